"""How backends learn the ids of users. A name may belong to somebody else one day, whereas an id never does."""

from collections.abc import Awaitable, Callable

UserIds = Callable[[str], Awaitable[str]]
"""Returns the id of the user who has this name now, and an empty text if nobody has it."""


async def no_user_ids(name: str) -> str:
    """Answers for backends without a server, which know users by their names only."""
    return ""
