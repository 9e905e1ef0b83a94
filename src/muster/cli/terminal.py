"""Printing of text that other people may have written: job names, reasons, labels, messages of nodes, logs.

A terminal obeys control characters, and some of them write to the clipboard, change the title, move the cursor or make
the terminal type. Only colours get through, wherever the output goes, because a pipe may end at a terminal too. All
other control characters are shown as escapes, and so are those that reverse the direction of text. Logs may also move
to the beginning of the line and back, as progress bars do; and into a file or a pipe they go unchanged.
"""

import re

import click

_COLOUR = r"\x1b\[[0-9;:]*m"
_REVERSING = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
_HOSTILE = re.compile(rf"{_COLOUR}|[\x00-\x08\x0b-\x1f\x7f-\x9f{_REVERSING}]")
_HOSTILE_IN_LINE = re.compile(rf"{_COLOUR}|[\x00-\x1f\x7f-\x9f\u2028\u2029{_REVERSING}]")
_HOSTILE_IN_LOGS = re.compile(rf"{_COLOUR}|[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f{_REVERSING}]")


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    click.echo(safe(str(text)), err=err, nl=nl)


def safe(text: str) -> str:
    return text if text.isprintable() else _HOSTILE.sub(_escaped, text)


def one_line(text: str) -> str:
    """Shows a value in a list of values: a line break in it is shown as an escape too, so that it begins no line that
    looks like another value."""
    return text if text.isprintable() else _HOSTILE_IN_LINE.sub(_escaped, text)


def safe_log(text: str) -> str:
    return _HOSTILE_IN_LOGS.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    found = match[0]
    return found if len(found) > 1 else found.encode("unicode_escape").decode()
