"""Prints an error of the server or of one of its tools, with all its problems."""

import sys
from unicodedata import category

from muster.domain.errors import MusterError

_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Kinds of characters: controls, changes of direction, halves of others, separators of lines."""


def print_error(error: MusterError) -> None:
    lines = [f"error: {error.message}", *(f"  {problem}" for problem in getattr(error, "problems", ()))]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    sys.stderr.write("\n".join(map(plain, lines)) + "\n")


def plain(text: str) -> str:
    """What a terminal would obey is shown instead: names of files and words of other servers may have it."""
    return "".join(ascii(one)[1:-1] if category(one) in _OBEYED and one not in "\n\t" else one for one in text)
