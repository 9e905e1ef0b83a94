"""Text as a terminal lays it out: columns, wide characters, and rows of cells that a program overwrites."""

import re
import unicodedata
from functools import lru_cache
from itertools import groupby, repeat

Cell = tuple[str, str]
"""The colour sequences and the character. The second half of a wide character is an empty one."""

COLOUR = r"\x1b\[[0-9;:]{0,60}m"
RESET = "\x1b[0m"
_TOKEN = re.compile(rf"(?P<colour>{COLOUR})|(?P<text>[^\x1b]+|\x1b)")
_RESETS = re.compile(r"\x1b\[(?:0{0,2}|0;[0-9;:]*)m")
_LETTERS = re.compile(r"[\x00-\x7f]+|[^\x00-\x7f]")
_MOST_COLOURS = 200
_MOST_MARKS = 8
"""Accents on one character; more are left out."""


class Row:
    """One line of the screen. Every character has its place, and what is written there later replaces it."""

    def __init__(self) -> None:
        self._cells: list[Cell] = []

    def __len__(self) -> int:
        return len(self._cells)

    def write(self, column: int, text: str, style: str) -> int:
        """Returns the column behind the text."""
        if text.isascii():
            new: list[Cell] = list(zip(repeat(style), text, strict=False))
        else:
            new = self._laid_out(column, text, style)
        if not new:
            return column
        end = column + len(new)
        cells = self._cells
        if column > len(cells):
            cells.extend([("", " ")] * (column - len(cells)))
        if 0 < column < len(cells) and not cells[column][1]:
            cells[column - 1] = ("", " ")
        if end < len(cells) and not cells[end][1]:
            cells[end] = ("", " ")
        cells[column:end] = new
        return end

    def erase(self, start: int, end: int | None = None) -> None:
        if end is None or end >= len(self._cells):
            del self._cells[start:]
        else:
            self._cells[start:end] = [("", " ")] * (end - start)

    def text(self) -> str:
        """The row with its colours, without the blanks at its end."""
        kept = len(self._cells)
        while kept and self._cells[kept - 1] == ("", " "):
            kept -= 1
        return "".join(
            f"{style}{''.join(letter for _, letter in group)}{RESET if style else ''}"
            for style, group in groupby(self._cells[:kept], key=lambda cell: cell[0])
        )

    def _laid_out(self, column: int, text: str, style: str) -> list[Cell]:
        new: list[Cell] = []
        for letter in _LETTERS.findall(text):
            if letter.isascii():
                new.extend(zip(repeat(style), letter, strict=False))
                continue
            width = letter_width(letter)
            if width:
                new.append((style, letter))
                new.extend([(style, "")] * (width - 1))
            elif new:
                _accent(new, len(new) - 1, letter)
            elif 0 < column <= len(self._cells):
                _accent(self._cells, column - 1, letter)
        return new


def _accent(cells: list[Cell], place: int, letter: str) -> None:
    if not cells[place][1] and place:
        place -= 1  # on the first half of a wide character
    style, letters = cells[place]
    if len(letters) <= _MOST_MARKS:
        cells[place] = (style, letters + letter)


def restyled(style: str, colour: str) -> str:
    """The colours that hold after one more sequence."""
    if _RESETS.fullmatch(colour):
        return colour if ";" in colour else ""
    if style.endswith(colour):
        return style
    return colour if len(style) + len(colour) > _MOST_COLOURS else style + colour


@lru_cache(maxsize=4096)
def letter_width(letter: str) -> int:
    """How many columns a terminal gives it."""
    if letter.isascii():
        return 1
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def clipped(text: str, columns: int) -> str:
    """The beginning of a line that fits into so many columns, with its colours."""
    if text.isascii() and text.isprintable():
        return text[:columns]
    out: list[str] = []
    used, is_coloured = 0, False
    for token in _TOKEN.finditer(text):
        if token["colour"]:
            out.append(token["colour"])
            is_coloured = True
            continue
        for letter in token["text"]:
            width = letter_width(letter)
            if used + width > columns:
                return "".join(out) + (RESET if is_coloured else "")
            used += width
            out.append(letter)
    return "".join(out) + (RESET if is_coloured else "")


def width_of(text: str) -> int:
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(letter_width(letter) for token in _TOKEN.finditer(text) for letter in token["text"] or "")
