"""Turns a person whom a provider has confirmed into a user with a session.

The link between the two is the provider's subject, never a name: somebody who is called like a user is not that user.
"""

import structlog

from muster.domain.accounts import Identity, Token, User
from muster.domain.errors import Conflict, Forbidden, NotAuthenticated
from muster.domain.sign_in import Person, SignInRules, role_of, why_refused
from muster.engine.context import Context
from muster.engine.requests.accounts import LOGIN, Accounts

_log = structlog.get_logger("server.sign_in")
ACTOR = "sign-in"
"""Who made changes that a login made, in the audit trail."""


class Admitting:
    def __init__(self, context: Context, accounts: Accounts, rules: SignInRules) -> None:
        self._context = context
        self._accounts = accounts
        self._rules = rules

    async def log_in(
        self, person: Person, label: str, address: str, *, most_s: float | None = None
    ) -> tuple[Token, str, User]:
        """The session lasts `most_s` at most. Raises Forbidden if the person may not use this server, and records that
        in the audit trail."""
        try:
            user = await self._user_of(person)
        except (Forbidden, NotAuthenticated):
            known = await self._linked(person)
            await self._accounts.record_failure(known, address)
            raise
        bounds = [bound for bound in (self._rules.session_lifetime_s, most_s) if bound is not None]
        lifetime_s = self._accounts.session_lifetime(min(bounds, default=None))
        token, secret = await self._accounts.create_token(user, label, lifetime_s, actor=user.name, what=LOGIN)
        return token, secret, user

    async def _user_of(self, person: Person) -> User:
        if (why := why_refused(person, self._rules)) is not None:
            raise Forbidden(why, hint="ask an admin")
        user = await self._linked(person)
        if user is None:
            return await self._new_or_linked(person)
        if user.disabled:
            raise NotAuthenticated(f"the account {user.name} is disabled", hint="ask an admin")
        return await self._up_to_date(user, person)

    async def _linked(self, person: Person) -> User | None:
        identity = await self._context.store.identity(person.issuer, person.subject)
        return None if identity is None else await self._context.store.user(identity.user)

    async def _new_or_linked(self, person: Person) -> User:
        if not person.name:
            raise Forbidden(
                "the identity provider gives you no user name that Muster allows",
                hint="an admin can choose where names come from in the settings, or link you: muster users link",
            )
        found = await self._context.store.user(person.name)
        if found is not None:
            return await self._link(found, person)
        if not self._rules.creates_users:
            raise Forbidden(
                f"there is no account for {person.name}",
                hint=f"an admin can create one: muster users add {person.name}, then muster users link",
            )
        identity = Identity(person.issuer, person.subject, person.name, self._context.clock())
        role, groups = role_of(person, self._rules, None), person.groups or ()
        try:
            return await self._accounts.create_user(
                person.name, role, None, actor=ACTOR, groups=groups, identity=identity
            )
        except Conflict as error:
            linked = await self._linked(person)  # the same person may be logging in twice at the same time
            if linked is None:
                raise Forbidden(error.message, hint=error.hint) from None
            return linked

    async def _link(self, user: User, person: Person) -> User:
        """Give the person an account that exists, if the settings allow it. An account that is linked to somebody else
        already, or is an admin's, is never given away."""
        is_free = not user.is_admin and not user.disabled and not await self._context.store.identities(user.name)
        if not self._rules.links_by_name or not is_free:
            raise Forbidden(
                f"there is another account {user.name}, which is not linked to you",
                hint=f"an admin can link it: muster users link {user.name} --subject {person.subject}",
            )
        await self._accounts.link(user, person.issuer, person.subject, actor=ACTOR)
        return await self._up_to_date(user, person)

    async def _up_to_date(self, user: User, person: Person) -> User:
        role = role_of(person, self._rules, user)
        groups = user.groups if person.groups is None else person.groups
        if (role, groups) == (user.role, user.groups):
            return user
        try:
            return await self._accounts.change_user(user.name, actor=ACTOR, role=role, groups=groups)
        except Conflict:
            _log.warning("the last admin stays one, although the provider says otherwise", user=user.name)
            return await self._accounts.change_user(user.name, actor=ACTOR, groups=groups)
