"""Tells texts with commands from texts with values, and finds the options of sbatch in a script."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SCRIPT = re.compile(r"\s*#!|(?:[^\n]*\n)*?#SBATCH[ \t]")
_MARK = "#SBATCH"


def is_script(text: str) -> bool:
    """Whether the text begins with the name of an interpreter, or has options of sbatch at the beginning of a line,
    where they would mean nothing in YAML."""
    return _SCRIPT.match(text) is not None


@dataclass(frozen=True, slots=True)
class OptionLine:
    """A line with options of sbatch, without its mark. Those after the first command are comments to Slurm."""

    number: int
    text: str
    is_late: bool


def indented_lines(script: str) -> Iterator[int]:
    """The lines before the first command that would have options of sbatch if there were no blanks before them."""
    for number, line in enumerate(script.splitlines(), start=1):
        if re.match(r"[ \t]+#SBATCH[ \t]", line):
            yield number
        elif line.strip() and not line.lstrip().startswith("#"):
            return


def option_lines(script: str) -> Iterator[OptionLine]:
    has_begun = False
    for number, line in enumerate(script.splitlines(), start=1):
        if line.startswith(_MARK) and (len(line) == len(_MARK) or line[len(_MARK)] in " \t"):
            yield OptionLine(number, line[len(_MARK) :], has_begun)
        elif line.strip() and not line.lstrip().startswith("#"):
            has_begun = True
