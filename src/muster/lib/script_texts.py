"""Tells texts with commands from texts with values."""

import re

_SCRIPT = re.compile(r"\s*#!|(?:[^\n]*\n)*?#SBATCH[ \t]")


def is_script(text: str) -> bool:
    """Whether the text begins with the name of an interpreter, or has options of sbatch at the beginning of a line,
    where they would mean nothing in YAML."""
    return _SCRIPT.match(text) is not None
