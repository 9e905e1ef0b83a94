"""How long a new token may last."""

from muster.domain.errors import Invalid, Problem
from muster.lib.quantities import format_duration
from muster.server.services import Services


async def longest_lifetime(parts: Services, owner: str) -> float | None:
    """Somebody whom the provider no longer knows must not have a token for ever."""
    of_all, of_people = parts.max_token_lifetime_s, parts.linked_token_lifetime_s
    if of_people is None or not await parts.context.store.identities(owner):
        return of_all
    return of_people if of_all is None else min(of_all, of_people)


def lifetime(asked_s: float | None, most_s: float | None) -> float | None:
    """A token for which no lifetime is asked has the longest that is allowed."""
    if asked_s is not None and most_s is not None and asked_s > most_s:
        problem = Problem("expires", "is too long", f"a token lasts at most {format_duration(most_s)}")
        raise Invalid("the token would last too long", problems=(problem,))
    return most_s if asked_s is None else asked_s
