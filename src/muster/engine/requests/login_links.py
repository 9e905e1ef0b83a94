"""Links that log a browser in, once and within minutes. Only the digest of a ticket is kept, and only in memory."""

from dataclasses import dataclass

from muster.domain.accounts import Token, User
from muster.domain.errors import NotAuthenticated
from muster.engine.requests.accounts import LOGIN, Accounts
from muster.lib.clock import Clock, wall_clock
from muster.lib.one_time import OneTime

LINK_S = 300.0
"""The life of a link, also to a page of a job. The command line says how long links are good."""


@dataclass(frozen=True, slots=True)
class _Link:
    user: str
    user_id: str
    """Another user may have the name by the time the link is opened."""
    until: float | None
    """When the token ends with which the link was made; the session does not outlast it."""


class LoginLinks:
    def __init__(self, clock: Clock = wall_clock) -> None:
        self._clock = clock
        self._links: OneTime[_Link] = OneTime(clock, LINK_S)

    def new(self, user: User, until: float | None = None) -> str:
        return self._links.put(_Link(user.name, user.id, until), user.name)

    def owner(self, ticket: str) -> str | None:
        """Returns the user whom the link logs in, if it is still good."""
        link = self._links.look(ticket)
        return None if link is None else link.user

    async def log_in(self, accounts: Accounts, ticket: str, label: str) -> tuple[Token, str, User]:
        link = self._links.take(ticket)
        if link is None:
            raise NotAuthenticated("this link was used already, or has expired", hint="`muster open` prints another")
        user = await accounts.user(link.user)
        if user.id != link.user_id:
            raise NotAuthenticated("this link is of a former user of that name")
        if user.disabled:
            raise NotAuthenticated("this user is disabled")
        lifetime_s = accounts.session_lifetime(None if link.until is None else max(1.0, link.until - self._clock()))
        token, secret = await accounts.create_token(user, label, lifetime_s, actor=user.name, what=LOGIN)
        return token, secret, user


def login_fragment(ticket: str) -> str:
    """The part of a link behind which the page finds the ticket. Browsers send it to no server."""
    return f"#login={ticket}"
