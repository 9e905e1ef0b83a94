"""Ends streams when the token that opened them is no longer valid: one check for all streams of a token.

It looks at once when somebody has changed a token or a user here, and every two seconds for tokens that expire and for
what was changed by another server of the same database.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from muster.domain.errors import NotAuthenticated, Unavailable
from muster.domain.events import Event
from muster.engine.context import Context
from muster.engine.requests.accounts import Accounts, Principal

CHECK_EVERY_S = 2.0
_SETTLE_S = 0.05
"""How long after the event of a change the accounts may still remember what was before it."""
_OF_TOKENS = ("audit.token.", "audit.user.")


@dataclass(slots=True)
class _Watched:
    me: Principal
    ends: list[Callable[[], None]] = field(default_factory=list)


class TokenWatch:
    def __init__(self) -> None:
        self._watched: dict[str, _Watched] = {}
        self._is_running = False
        self._wake = asyncio.Event()

    @contextmanager
    def watching(self, context: Context, accounts: Accounts, me: Principal, end: Callable[[], None]) -> Iterator[None]:
        """While the block lasts, `end` is called when the token is revoked or expires, its user is disabled or removed,
        or the user gets other rights."""
        watched = self._watched.setdefault(me.token.secret_hash, _Watched(me))
        watched.ends.append(end)
        if not self._is_running:
            self._is_running = True
            context.spawn(self._run(context, accounts), "tokens of streams")
        try:
            yield
        finally:
            watched.ends.remove(end)
            if not watched.ends and self._watched.get(me.token.secret_hash) is watched:
                del self._watched[me.token.secret_hash]

    async def _run(self, context: Context, accounts: Accounts) -> None:
        try:
            with context.hub.listening(self._note):
                while self._watched:
                    await self._pause()
                    await self._check(accounts)
        finally:
            self._is_running = False

    def _note(self, events: Sequence[Event]) -> None:
        if any(event.kind.startswith(_OF_TOKENS) for event in events):
            self._wake.set()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(CHECK_EVERY_S):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()
        await asyncio.sleep(_SETTLE_S)

    async def _check(self, accounts: Accounts) -> None:
        for watched in list(self._watched.values()):
            if not await _is_valid(accounts, watched.me):
                for end in list(watched.ends):
                    end()


async def _is_valid(accounts: Accounts, me: Principal) -> bool:
    """While the database does not answer, nobody can revoke a token either."""
    try:
        now = await accounts.behind(me.token.secret_hash)
    except NotAuthenticated:
        return False
    except Unavailable:
        return True
    return (now.user.role, now.user.groups, now.token.scope) == (me.user.role, me.user.groups, me.token.scope)
