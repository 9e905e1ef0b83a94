"""SQL's LIKE on texts of other people: `%` stands for any characters and `_` for one.

A pattern is short and has few wildcards, and what all comparisons of one search may cost is bounded. Nothing goes back:
what stands between two `%` has a fixed length, so that its first place is always the right one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from muster.domain.errors import Invalid

LONGEST = 250
MOST_WILDCARDS = 32
MOST_WORK = 100_000_000
"""What the comparisons of one search may cost: the characters of each value, once for each piece of the pattern, and
what is looked at for nothing."""
_LOOK_COST = 20
_NARROWER = "ask for fewer experiments, or put the condition on a shorter text"


class Work:
    """What the comparisons of one search have cost. One thread counts."""

    def __init__(self, most: int = MOST_WORK) -> None:
        self._left = most

    def spend(self, cost: int) -> None:
        """Raises Invalid."""
        self._left -= cost
        if self._left < 0:
            raise Invalid("too much text is compared with LIKE", hint=_NARROWER)


@dataclass(frozen=True, slots=True)
class _Part:
    """What stands between two `%`: texts at fixed places, and any character elsewhere."""

    length: int
    texts: tuple[tuple[int, str], ...]

    def is_at(self, value: str, at: int) -> bool:
        return at + self.length <= len(value) and all(value.startswith(text, at + place) for place, text in self.texts)

    def find(self, value: str, start: int, end: int, work: Work) -> int:
        """The first place where it is, between `start` and `end`; -1 if it is nowhere."""
        if not self.texts:
            return start if start + self.length <= end else -1
        place, longest = max(self.texts, key=lambda one: len(one[1]))
        at = start
        while at + self.length <= end:
            found = value.find(longest, at + place, end)
            if found < 0 or found - place + self.length > end:
                return -1
            at = found - place
            if self.is_at(value, at):
                return at
            work.spend(_LOOK_COST * len(self.texts))
            at += 1
        return -1


class LikePattern:
    def __init__(self, text: str, work: Work, *, is_folded: bool) -> None:
        """`is_folded` if case does not matter. Raises Invalid."""
        if len(text) > LONGEST:
            raise Invalid(f"a pattern of LIKE has {len(text)} characters, {LONGEST} are allowed")
        if (count := text.count("%") + text.count("_")) > MOST_WILDCARDS:
            raise Invalid(f"a pattern of LIKE has {count} wildcards (% and _), {MOST_WILDCARDS} are allowed")
        self._is_folded = is_folded
        self._parts = [_part(one) for one in (text.lower() if is_folded else text).split("%")]
        self._pieces = sum(max(1, len(part.texts)) for part in self._parts)
        self._work = work

    def matches(self, value: str) -> bool:
        """Raises Invalid when the search has cost too much."""
        self._work.spend((len(value) + 1) * self._pieces)
        return _matches(self._parts, value.lower() if self._is_folded else value, self._work)


def _matches(parts: Sequence[_Part], value: str, work: Work) -> bool:
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return first.length == len(value) and first.is_at(value, 0)
    end = len(value) - last.length
    if end < first.length or not first.is_at(value, 0) or not last.is_at(value, end):
        return False
    at = first.length
    for part in parts[1:-1]:
        found = part.find(value, at, end, work)
        if found < 0:
            return False
        at = found + part.length
    return True


def _part(text: str) -> _Part:
    return _Part(len(text), tuple((found.start(), found[0]) for found in re.finditer("[^_]+", text)))
