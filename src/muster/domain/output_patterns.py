"""Which files the patterns in `outputs` of a spec name: `model/` is a folder with all below it, `metrics.json` a file
or a folder, `logs/*.csv` names files in one folder, `**/*.csv` files at any depth.

The agent, which imports nothing of the platform, walks a folder by the same rule (`muster.agent.tasks.outputs`); a test
compares the two.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern names this file. The path is relative to the working folder of the task."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    folder = reached = _reached(parts, {0})
    for name in path.split("/"):
        folder, reached = reached, _reached(parts, _next(parts, reached, name))
    return len(parts) in (folder if pattern.endswith("/") else reached)


def _next(parts: Sequence[str], states: frozenset[int], name: str) -> set[int]:
    """A state is the number of parts that have matched. Everything below a whole match is meant too."""
    stays = {state for state in states if state == len(parts) or parts[state] == "**"}
    return stays | {state + 1 for state in states - stays if fnmatchcase(name, parts[state])}


def _reached(parts: Sequence[str], states: set[int]) -> frozenset[int]:
    """`**` also matches no folder at all."""
    reached = set(states)
    for state, part in enumerate(parts):
        if state in reached and part == "**":
            reached.add(state + 1)
    return frozenset(reached)
