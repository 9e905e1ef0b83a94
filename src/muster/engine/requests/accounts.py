"""Users and tokens: how they are created, checked and revoked.

Passwords are hashed with argon2. A token is a secret of 256 bits, of which only the hash is stored.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from muster.domain.accounts import SESSION_PREFIX, USER_ID_PREFIX, Identity, Token, TokenScope, User, UserRole
from muster.domain.audit_kinds import AuditKind
from muster.domain.errors import Conflict, Forbidden, NotAuthenticated, NotFound
from muster.engine.context import Context
from muster.engine.data.packages import drop_unfinished_uploads
from muster.engine.lifecycle.access_holds import check_access
from muster.engine.requests.login_attempts import LoginAttempts
from muster.engine.requests.passwords import Passwords
from muster.engine.state.event_builders import audit_event
from muster.lib.ids import new_id, new_secret
from muster.ports.store import Change

_TOKEN_PREFIX = "mst_"  # noqa: S105 - lets secret scanners find leaked tokens
LOGIN: Final = "login"
_USE_NOTED_EVERY_S = 300.0
_CACHED_S = 5.0
_MAX_CACHED = 10_000
WRONG = "wrong user or password"


@dataclass(frozen=True, slots=True)
class Principal:
    """The user who makes a request, and the token that authenticates it."""

    user: User
    token: Token

    @property
    def name(self) -> str:
        return self.user.name

    @property
    def is_admin(self) -> bool:
        """Whether the request has an admin's rights. A token with a narrower scope does not have them."""
        return self.user.is_admin and self.token.scope is TokenScope.ADMIN and self.token.job_id is None


class Accounts:
    """Caches the user of each token, because every request needs it, and drops the cache on any change. That makes a
    new dictionary, so that a look-up which began before the change leaves its result in the old one."""

    def __init__(self, context: Context, session_lifetime_s: float, passwords: Passwords | None = None) -> None:
        self._context = context
        self._session_lifetime_s = session_lifetime_s
        self._passwords = passwords or Passwords()
        self.attempts = LoginAttempts(context.clock)
        self._changing = asyncio.Lock()
        """Held from the check that an admin is left until the change is stored."""
        self._known: dict[str, tuple[Principal, float]] = {}
        """The user of each token and when it was looked up, by the hash of the secret."""
        self._used: dict[str, float] = {}

    async def authenticate(self, secret: str) -> Principal:
        principal = await self._current(hash_secret(secret))
        self._note_use(principal.token)
        return principal

    async def behind(self, secret_hash: str) -> Principal:
        """The user of a token that was authenticated before and is known by its digest. Raises NotAuthenticated."""
        return await self._current(secret_hash)

    async def recheck(self, principal: Principal) -> None:
        """Raises NotAuthenticated if the token or its user is gone, disabled or expired by now."""
        await self._current(principal.token.secret_hash)

    async def _current(self, secret_hash: str) -> Principal:
        """The user of a token. Another server on the same database may have revoked it, so nothing is cached for
        long."""
        now = self._context.clock()
        principal, looked_up_at = self._known.get(secret_hash, (None, 0.0))
        if principal is None or abs(now - looked_up_at) > _CACHED_S:
            principal = await self._look_up(secret_hash)
        expires_at = principal.token.expires_at
        if expires_at is not None and expires_at <= now:
            raise NotAuthenticated("this token has expired", hint="log in again: muster login")
        return principal

    async def log_in(
        self, name: str, password: str, label: str, address: str = "", *, most_s: float | None = None
    ) -> tuple[Token, str, User]:
        """Log in with a password that Muster keeps. The session lasts `most_s` at most."""
        counted = self.attempts.count(address, name)
        user = await self._context.store.user(name)
        usable = user is not None and not user.disabled and user.password_hash
        is_right = await self._passwords.verify(user.password_hash if user and usable else None, password)
        if user is None or not usable or not is_right:
            await self.record_failure(user, address)
            raise NotAuthenticated(WRONG, hint="an admin can set a password: muster users passwd NAME")
        self.attempts.succeeded(address, name, counted)
        lifetime_s = self.session_lifetime(most_s)
        token, secret = await self.create_token(user, label, lifetime_s, actor=name, what=LOGIN)
        return token, secret, user

    async def create_token(
        self,
        user: User,
        name: str,
        lifetime_s: float | None,
        *,
        actor: str,
        what: AuditKind = "token.create",
        scope: TokenScope = TokenScope.ADMIN,
        job_id: str | None = None,
    ) -> tuple[Token, str]:
        now = self._context.clock()
        secret = _TOKEN_PREFIX + new_secret()
        expires_at = None if lifetime_s is None else now + lifetime_s
        token_id = SESSION_PREFIX + new_id() if what == LOGIN else new_id()
        token = Token(token_id, user.name, name, hash_secret(secret), now, expires_at, None, scope, job_id)
        event = audit_event(what, actor, now, token=token.id, user=user.name, label=name)
        removed = await self._make_room(user, is_session=token.is_session)
        await self._context.store.apply_all([*removed, Change(new_token=token, events=[event])])
        return token, secret

    async def _make_room(self, user: User, *, is_session: bool) -> list[Change]:
        """The removal of tokens that have expired, and of the oldest login if there would be too many. Raises Conflict
        if the user has so many tokens that only the user can choose what to revoke."""
        now, most = self._context.clock(), self._context.limits.tokens_per_user
        tokens = await self._context.store.tokens(user.name)
        expired = [one for one in tokens if one.expires_at is not None and one.expires_at <= now]
        live = [one for one in tokens if one not in expired]
        sessions = [one for one in live if one.is_session]
        if len(live) >= most and not (is_session and sessions):
            raise Conflict(f"{user.name} has {len(live)} tokens, {most} are allowed", hint="muster tokens revoke ID")
        oldest = sessions[: len(live) - most + 1] if len(live) >= most else []
        if oldest:
            self._known = {}
        return [Change(removed_token=one.id) for one in [*expired, *oldest]]

    async def begin_session(self, principal: Principal, label: str) -> tuple[Token, str]:
        """A session of its own for somebody with a token. It may do what the token may, and lasts no longer."""
        own = principal.token
        left_s = None if own.expires_at is None else max(1.0, own.expires_at - self._context.clock())
        lifetime_s = self.session_lifetime(left_s)
        return await self.create_token(
            principal.user, label, lifetime_s, actor=principal.name, what=LOGIN, scope=own.scope, job_id=own.job_id
        )

    async def revoke(self, token: Token, *, actor: str) -> None:
        await self._remove(token, "token.revoke", actor)

    async def log_out(self, token: Token, *, actor: str) -> None:
        """The token that somebody logged in with is of no more use."""
        await self._remove(token, "logout", actor)

    async def _remove(self, token: Token, kind: AuditKind, actor: str) -> None:
        now = self._context.clock()
        event = audit_event(kind, actor, now, token=token.id, user=token.user)
        await self._context.store.apply(Change(removed_token=token.id, events=[event]))
        self._known = {}

    async def create_user(
        self,
        name: str,
        role: UserRole,
        password: str | None,
        *,
        actor: str,
        groups: Sequence[str] = (),
        identity: Identity | None = None,
    ) -> User:
        if await self._context.store.user(name) is not None:
            raise Conflict(f"there is already a user {name}")
        now = self._context.clock()
        if self._context.open_jobs.count_of(name):
            raise Conflict(
                f"jobs of a former user {name} have not ended",
                hint=f"see `muster get jobs --owner {name}`, and kill them",
            )
        if any(entry.sweep.owner == name for entry in self._context.open_sweeps.values()):
            raise Conflict(
                f"sweeps of a former user {name} have not ended",
                hint=f"see `muster sweep list --owner {name}`, and stop them",
            )
        user = User(
            name, role, now, await self._passwords.hash(password), groups=_tidy(groups), id=USER_ID_PREFIX + new_id()
        )
        event = audit_event("user.create", actor, now, user=name, role=str(role))
        drop_unfinished_uploads(self._context.packages, name)
        await self._context.store.apply(Change(new_user=user, new_identity=identity, events=[event]))
        return user

    async def link(self, user: User, issuer: str, subject: str, *, actor: str) -> Identity:
        """From now on, the person of the identity provider is this user. Raises Conflict if it is another one."""
        now = self._context.clock()
        identity = Identity(issuer, subject, user.name, now)
        event = audit_event("user.link", actor, now, user=user.name, issuer=issuer, subject=subject)
        await self._context.store.apply(Change(new_identity=identity, events=[event]))
        return identity

    async def unlink(self, identity: Identity, *, actor: str) -> None:
        """The person can no longer log in as this user. Their sessions end."""
        now = self._context.clock()
        event = audit_event("user.unlink", actor, now, user=identity.user, issuer=identity.issuer)
        sessions = [token for token in await self._context.store.tokens(identity.user) if token.is_session]
        ended = [Change(removed_token=token.id) for token in sessions]
        await self._context.store.apply_all([Change(removed_identity=identity, events=[event]), *ended])
        self._known = {}

    def session_lifetime(self, most_s: float | None) -> float:
        return self._session_lifetime_s if most_s is None else min(self._session_lifetime_s, most_s)

    async def change_user(
        self,
        name: str,
        *,
        actor: str,
        role: UserRole | None = None,
        password: str | None = None,
        disabled: bool | None = None,
        groups: Sequence[str] | None = None,
        keep: Token | None = None,
        ends_tokens: bool = False,
    ) -> User:
        """Change a user. A new password ends the user's sessions, and with `ends_tokens` all tokens of the user, except
        for `keep`."""
        new_hash = await self._passwords.hash(password)
        async with self._changing:
            return await self._change_user(name, actor, role, new_hash, disabled, groups, keep, ends_tokens)

    async def _change_user(
        self,
        name: str,
        actor: str,
        role: UserRole | None,
        new_hash: str | None,
        disabled: bool | None,
        groups: Sequence[str] | None,
        keep: Token | None,
        ends_tokens: bool,
    ) -> User:
        user = await self.user(name)
        changed = replace(
            user,
            role=user.role if role is None else role,
            disabled=user.disabled if disabled is None else disabled,
            password_hash=user.password_hash if new_hash is None else new_hash,
            groups=user.groups if groups is None else _tidy(groups),
        )
        await self._keep_one_admin(user, changed)
        now = self._context.clock()
        event = audit_event(
            "user.change",
            actor,
            now,
            user=name,
            role=str(changed.role),
            disabled=changed.disabled,
            groups=",".join(changed.groups),
        )
        changes = [Change(user=changed, events=[event])]
        if new_hash is not None:
            tokens = await self._context.store.tokens(name)
            ended = [token for token in tokens if token.is_session or ends_tokens]
            changes += [Change(removed_token=token.id) for token in ended if keep is None or token.id != keep.id]
        await self._context.store.apply_all(changes)
        self._known = {}
        if (changed.role, changed.groups) != (user.role, user.groups):
            self._context.spawn(check_access(self._context), "access")
        return changed

    async def remove_user(self, name: str, *, actor: str) -> None:
        async with self._changing:
            user = await self.user(name)
            await self._keep_one_admin(user, replace(user, disabled=True))
            now = self._context.clock()
            event = audit_event("user.remove", actor, now, user=name, id=user.id)
            await self._context.store.apply(Change(removed_user=name, events=[event]))
            self._known = {}
            self._context.spawn(check_access(self._context), "access")

    async def check_password(self, user: User, password: str | None, address: str = "") -> None:
        counted = self.attempts.count(address, user.name)
        if not await self._passwords.verify(user.password_hash, password or ""):
            await self.record_failure(user, address)
            raise Forbidden("the old password is wrong")
        self.attempts.succeeded(address, user.name, counted)

    async def user(self, name: str) -> User:
        user = await self._context.store.user(name)
        if user is None:
            raise NotFound(f"there is no user {name}")
        return user

    async def record_failure(self, user: User | None, address: str) -> None:
        """Write a failed login to the audit trail. A name that no user has is left out: it may be a password that
        somebody typed into the wrong field."""
        name = user.name if user is not None else ""
        event = audit_event("login.failed", name, self._context.clock(), user=name, address=address)
        await self._context.store.apply(Change(events=[event]))

    def _note_use(self, token: Token) -> None:
        """Record when a token was used, every few minutes, which is exact enough to find unused tokens."""
        now = self._context.clock()
        if now - self._used.get(token.id, token.last_used_at or 0.0) >= _USE_NOTED_EVERY_S:
            self._used[token.id] = now
            self._context.spawn(self._write_use(token.id, now), "note token use")

    async def _write_use(self, token_id: str, now: float) -> None:
        await self._context.store.apply(Change(used_token=(token_id, now)))

    async def _look_up(self, secret_hash: str) -> Principal:
        known = self._known
        token = await self._context.store.token_by_hash(secret_hash)
        user = await self._context.store.user(token.user) if token else None
        if token is None or user is None or user.disabled:
            raise NotAuthenticated("this token is not valid", hint="log in again: muster login")
        principal = Principal(user, token)
        if len(known) >= _MAX_CACHED:
            known.clear()
        known[secret_hash] = principal, self._context.clock()
        return principal

    async def _keep_one_admin(self, before: User, after: User) -> None:
        if not before.is_admin or (after.is_admin and not after.disabled):
            return
        others = [u for u in await self._context.store.users() if u.is_admin and not u.disabled]
        if [u.name for u in others] == [before.name]:
            raise Conflict(f"{before.name} is the last admin", hint="make somebody else admin first")


def _tidy(groups: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(groups)))


def hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
