"""Tables as CSV, of which no cell is a formula for a spreadsheet."""

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

_ACTIVE = re.compile(r"[\t\r]|\s*[=+\-@]")
"""A text that begins so is a formula for spreadsheets."""


def csv_text(titles: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerows([_cell(value) for value in line] for line in (titles, *lines))
    return target.getvalue()


def harmless(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would take it for a formula. Numbers stay as they are."""
    return f"'{text}" if _ACTIVE.match(text) and not _is_number(text) else text


def _cell(value: Any) -> Any:
    """A carriage return becomes a line break, because the writer does not quote it and readers would begin a row."""
    if value is None:
        return ""
    return (
        value
        if isinstance(value, bool | int | float)
        else harmless(str(value)).replace("\r\n", "\n").replace("\r", "\n")
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
