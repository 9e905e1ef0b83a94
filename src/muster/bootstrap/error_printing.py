"""Prints an error of the server or of one of its tools, with all its problems."""

import sys

from muster.domain.errors import MusterError


def print_error(error: MusterError) -> None:
    lines = [f"error: {error.message}", *(f"  {problem}" for problem in getattr(error, "problems", ()))]
    if error.hint:
        lines.append(f"hint: {error.hint}")
    sys.stderr.write("\n".join(lines) + "\n")
