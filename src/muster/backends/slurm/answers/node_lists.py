"""Slurm's expressions for many nodes: `n[1-3,7],gpu-[001-010]x[1-2]`."""

import itertools
import re
from collections.abc import Iterator

MOST = 100_000
"""More nodes than any cluster has. An expression that stands for more is a mistake."""
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\],]+)")
_RANGE = re.compile(r"(\d+)-(\d+)")
_NOBODY = frozenset(("", "(null)", "None", "N/A", "NONE", "None assigned"))


def expand(expression: str) -> tuple[str, ...]:
    """The names, in order. Raises ValueError for what is no list of nodes."""
    if expression.strip() in _NOBODY:
        return ()
    found: list[str] = []
    for item in _items(expression.strip()):
        found += _names(item, MOST - len(found))
    return tuple(found)


def _items(expression: str) -> Iterator[str]:
    """The parts between those commas that are outside of brackets."""
    depth, start = 0, 0
    for index, char in enumerate(expression):
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            raise ValueError(f"{expression!r} is no list of nodes: its brackets do not match")
        if char == "," and depth == 0:
            yield expression[start:index]
            start = index + 1
    if depth:
        raise ValueError(f"{expression!r} is no list of nodes: its brackets do not match")
    yield expression[start:]


def _names(item: str, most: int) -> list[str]:
    parts = [_choices(found[1], most) if found[2] is None else [found[2]] for found in _PART.finditer(item)]
    count = 1
    for part in parts:
        count *= len(part)
    if not parts or count > most:
        raise ValueError(f"{item!r} is no list of at most {MOST} nodes")
    return ["".join(words) for words in itertools.product(*parts)]


def _choices(inside: str, most: int) -> list[str]:
    found: list[str] = []
    for one in inside.split(","):
        both = _RANGE.fullmatch(one.strip())
        if both is None:
            found.append(one.strip())
            continue
        first, last, width = int(both[1]), int(both[2]), len(both[1])
        if last < first or last - first >= most:
            raise ValueError(f"[{inside}] is no range of at most {MOST} nodes")
        found += [str(number).zfill(width) for number in range(first, last + 1)]
    return found
