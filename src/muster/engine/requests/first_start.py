"""Whether anybody can log in to a server at all, for those who open its page for the first time."""

from muster.domain.accounts import User
from muster.engine.context import Context

COMMAND = "muster open"
"""Prints a link that logs a browser in, on the machine of the server and under the account that runs it."""
_LOOK_EVERY_S = 2.0


class FirstStart:
    """It is asked by people whom nobody knows yet, so that it asks the store seldom, and never again once somebody has
    a password."""

    def __init__(self) -> None:
        self._is_unused = True
        self._asked_at = float("-inf")

    async def is_unused(self, context: Context) -> bool:
        """Whether no user has a password, so that nobody could log in with one."""
        now = context.clock()
        if self._is_unused and abs(now - self._asked_at) >= _LOOK_EVERY_S:
            self._asked_at = now
            self._is_unused = not any(map(_can_log_in, await context.store.users()))
        return self._is_unused


def _can_log_in(user: User) -> bool:
    return user.password_hash is not None
