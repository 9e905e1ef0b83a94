"""Reads the `#SBATCH` lines of a script: which options are given, with which values and on which lines.

As in Slurm, lines after the first command are comments, and of an option that is given twice the last one counts.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from muster.lib.nearest import nearest
from muster.lib.script_texts import indented_lines, option_lines
from muster.wire.dialects.slurm.options import OPTIONS, SHORT, Option, Takes, long_option

_MARK = "#SBATCH"
_HETEROGENEOUS = ("hetjob", "packjob")
_LONGEST = 8192
"""The longest line with options: taking it apart takes quadratic time."""
_MOST = 100
"""The most mistakes that are found, because each of them is compared with all options."""


@dataclass(frozen=True, slots=True)
class Given:
    """`word` is the option as it was written."""

    option: Option
    value: str
    word: str
    line: int


@dataclass(frozen=True, slots=True)
class Mistake:
    line: int
    word: str
    message: str
    hint: str = ""


@dataclass(slots=True)
class Directives:
    given: dict[str, Given] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    heterogeneous: int | None = None
    """The line on which the second part of a heterogeneous job begins."""
    late: list[int] = field(default_factory=list)
    """The lines that come after the first command."""
    indented: list[int] = field(default_factory=list)
    """The lines that begin with blanks, which are comments to Slurm."""

    def value(self, name: str) -> str | None:
        return self.given[name].value if name in self.given else None


def read_directives(script: str) -> Directives:
    found = Directives(indented=list(islice(indented_lines(script), _MOST)))
    for line in option_lines(script):
        if line.is_late:
            found.late.append(line.number)
        elif len(line.text) > _LONGEST:
            found.mistakes.append(Mistake(line.number, _MARK, f"is longer than {_LONGEST} characters", "use two lines"))
        else:
            _read_line(found, line.number, line.text)
        if len(found.mistakes) + len(found.late) >= _MOST:
            break
    return found


def _read_line(found: Directives, number: int, text: str) -> None:
    try:
        words = shlex.split(text, comments=True)
    except ValueError as error:
        found.mistakes.append(Mistake(number, _MARK, f"cannot be read: {str(error).lower()}", "close the quotes"))
        return
    if words and words[0] in _HETEROGENEOUS:
        found.heterogeneous = found.heterogeneous or number
        return
    for one in _options(found, number, iter(words)):
        if found.heterogeneous is None:
            found.given[one.option.name] = one


def _options(found: Directives, number: int, words: Iterator[str]) -> Iterator[Given]:
    for word in words:
        if word.startswith("--") and len(word) > 2:
            one = _long(found, number, word, words)
        elif re.match(r"-[A-Za-z]", word):
            one = _short(found, number, word, words)
        else:
            found.mistakes.append(Mistake(number, word, "is not an option", "options begin with - or --"))
            return
        if one is None:
            return  # whether the next word belongs to it cannot be known
        yield one


def _long(found: Directives, number: int, word: str, words: Iterator[str]) -> Given | None:
    name, has_value, value = word[2:].partition("=")
    options = long_option(name)
    if len(options) != 1:
        found.mistakes.append(_unknown(number, f"--{name}", [f"--{one.name}" for one in options]))
        return None
    if not has_value and options[0].takes is Takes.VALUE:
        value = next(words, "")
    return _given(found, number, options[0], value, f"--{name}")


def _short(found: Directives, number: int, word: str, words: Iterator[str]) -> Given | None:
    option = SHORT.get(word[1])
    if option is None:
        found.mistakes.append(_unknown(number, word[:2], []))
        return None
    value = word[2:].removeprefix("=")
    if not value and option.takes is Takes.VALUE:
        value = next(words, "")
    return _given(found, number, option, value, word[:2])


def _given(found: Directives, number: int, option: Option, value: str, word: str) -> Given | None:
    if option.takes is Takes.VALUE and not value:
        found.mistakes.append(Mistake(number, word, "needs a value"))
        return None
    return Given(option, value, word, number)


def _unknown(number: int, word: str, several: list[str]) -> Mistake:
    if several:
        return Mistake(number, word, "may be several options", f"{', '.join(several[:-1])} or {several[-1]}")
    guess = nearest(word.lstrip("-"), OPTIONS)
    return Mistake(number, word, "is not an option of sbatch", f"did you mean --{guess}?" if guess else "")
