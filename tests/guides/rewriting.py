"""Writes into a page what its commands really print. Lines that are equal but for times and ids stay as they are, and
so does what the page leaves out, so that writing a page again changes nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from tests.guides.comparing import LEFT_OUT, normalised
from tests.guides.following_pages import Difference

__all__ = ["merged", "rewritten"]

_ROW = re.compile(r"\S  +\S")


def rewritten(text: str, differences: Iterable[Difference]) -> str:
    lines = text.splitlines()
    for one in sorted(differences, key=lambda one: -one.command.first):
        if one.can_be_written:
            lines[one.command.first : one.command.last] = merged(one.command.expected, one.answer.lines)
    return "\n".join(lines) + "\n"


def merged(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """Rows of a table are taken as printed, because their columns belong together."""
    new = [line.rstrip() for line in printed]
    while new and not new[-1]:
        new.pop()
    return list(_merged(list(shown), new))


def _merged(old: list[str], new: list[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, [normalised(line) for line in old], [normalised(line) for line in new], False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind == "equal":
            for before, now in zip(old[first:last], new[new_first:new_last], strict=True):
                yield now if _ROW.search(now) else before
        elif [line.strip() for line in old[first:last]] == [LEFT_OUT]:
            yield old[first]
        else:
            yield from new[new_first:new_last]
