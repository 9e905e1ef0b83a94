"""Matches files against the patterns in `outputs` of a spec: `model/` is a folder with everything below it,
`metrics.json` a file or a folder, `logs/*.csv` matches files in one folder, `**/*.csv` files at any depth.

The agent, which imports no other package of Muster, has its own implementation of these rules in
`muster.agent.tasks.outputs`; a test compares the two.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase


def is_glob(pattern: str) -> bool:
    return any(letter in pattern for letter in "*?[")


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern matches this file. The path is relative to the working directory of the task."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    folder = reached = _reached(parts, {0})
    for name in path.split("/"):
        folder, reached = reached, _reached(parts, _next(parts, reached, name))
    return len(parts) in (folder if pattern.endswith("/") else reached)


def _next(parts: Sequence[str], states: frozenset[int], name: str) -> set[int]:
    """A state is the number of parts that have matched. Everything below a complete match also matches."""
    stays = {state for state in states if state == len(parts) or parts[state] == "**"}
    return stays | {state + 1 for state in states - stays if fnmatchcase(name, parts[state])}


def _reached(parts: Sequence[str], states: set[int]) -> frozenset[int]:
    """`**` also matches no folder at all."""
    reached = set(states)
    for state, part in enumerate(parts):
        if state in reached and part == "**":
            reached.add(state + 1)
    return frozenset(reached)
