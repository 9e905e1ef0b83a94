"""Commands as people read them in tables and descriptions: whole programs among their words are cut."""

import shlex
from collections.abc import Sequence

_MOST_LINES = 40
_SHOWN_LINES = 3


def shown(argv: Sequence[object] | None) -> str:
    """The words as a shell would take them. A word that is a program of its own is cut after its first lines."""
    return " ".join(_word(str(word)) for word in argv or ())


def _word(word: str) -> str:
    lines = word.splitlines()
    if len(lines) <= _MOST_LINES:
        return shlex.quote(word)
    first = "\n".join(lines[:_SHOWN_LINES])
    return f"{shlex.quote(first)}… ({len(lines) - _SHOWN_LINES} more lines; -o yaml shows them)"
