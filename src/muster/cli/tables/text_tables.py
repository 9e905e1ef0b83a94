"""Renders plain, aligned text tables. It knows display widths (a Chinese character takes two columns), but not what the
rows mean."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import click

Row = TypeVar("Row")
EMPTY = "-"
_GAP = "  "
_SHORT_TEXT = 8  # texts are not cut below this as long as something wider is left


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """`wide` columns appear only with `-o wide`. `colour` returns the click colour for a text."""

    title: str
    value: Callable[[Row], Any]
    wide: bool = False
    right: bool = False
    colour: Callable[[str], str | None] | None = None


def render(columns: Sequence[Column[Row]], rows: Sequence[Row], *, width: int | None = None) -> list[str]:
    """The lines of the table, with colours. With `width`, the last column is cut so that no line is longer."""
    cells = _cells(columns, rows)
    widths = _widths(columns, cells)
    if width is not None and columns:
        _cut_last(widths, columns, width)
    return _lines(columns, cells, widths)


def render_within(columns: Sequence[Column[Row]], rows: Sequence[Row], width: int | None) -> list[str]:
    """The lines of the table, none of them longer than `width`. The last column is cut first, then the widest ones,
    texts before numbers."""
    cells = _cells(columns, rows)
    widths = _widths(columns, cells)
    if width is not None and columns:
        _cut_last(widths, columns, width)
        _cut_widest(widths, columns, width)
    return _lines(columns, cells, widths)


def fitting(
    columns: Sequence[Column[Row]], rows: Sequence[Row], width: int | None, least: Sequence[str]
) -> list[Column[Row]]:
    """The columns that fit into `width`. Those titled in `least` are dropped in that order until the rest fits."""
    kept = list(columns)
    for title in least:
        if width is None or _total(_widths(kept, _cells(kept, rows))) <= width:
            break
        kept = [column for column in kept if column.title != title]
    return kept


def shown(value: Any) -> str:
    """The text of a cell. An empty value is `-`, and control characters are removed."""
    if value is None or value == "":
        return EMPTY
    text = str(value)
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)


def display_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_letter_width(letter) for letter in text)


def cut(text: str, width: int) -> str:
    """The text cut to at most `width` columns, with an ellipsis if something was cut."""
    if display_width(text) <= width:
        return text
    taken = ""
    used = 0
    for letter in text:
        used += _letter_width(letter)
        if used > width - 1:
            break
        taken += letter
    return f"{taken}…"


def _cells(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[list[str]]:
    return [[shown(column.value(row)) for column in columns] for row in rows]


def _widths(columns: Sequence[Column[Row]], cells: Sequence[Sequence[str]]) -> list[int]:
    return [
        max([display_width(column.title), *(display_width(line[place]) for line in cells)])
        for place, column in enumerate(columns)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _cut_last(widths: list[int], columns: Sequence[Column[Row]], width: int) -> None:
    """Makes the last column as narrow as `width` demands, but not narrower than its title."""
    excess = max(_total(widths) - width, 0)
    widths[-1] = max(widths[-1] - excess, display_width(columns[-1].title))


def _cut_widest(widths: list[int], columns: Sequence[Column[Row]], width: int) -> None:
    while _total(widths) > width and max(widths) > 1:
        texts = [place for place, column in enumerate(columns) if not column.right and widths[place] > _SHORT_TEXT]
        widest = max(texts or range(len(widths)), key=lambda place: widths[place])
        widths[widest] -= 1


def _lines(columns: Sequence[Column[Row]], cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    titles = _GAP.join(_fit(column.title, widths[place], column.right) for place, column in enumerate(columns))
    return [titles.rstrip(), *(_line(columns, line, widths) for line in cells)]


def _line(columns: Sequence[Column[Row]], cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = []
    for column, text, width in zip(columns, cells, widths, strict=True):
        fitted = _fit(text, width, column.right)
        colour = column.colour(text) if column.colour else None
        parts.append(click.style(fitted, fg=colour) if colour else fitted)
    return _GAP.join(parts).rstrip()


def _fit(text: str, width: int, right: bool) -> str:
    text = cut(text, width)
    padding = " " * (width - display_width(text))
    return padding + text if right else text + padding


def _letter_width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
