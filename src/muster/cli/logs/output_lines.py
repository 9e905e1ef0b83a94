"""Turns the output of one task into the lines that a terminal would show.

A progress bar writes its line again and again, with a carriage return before each frame: only the last frame is the
line. Some programs also move up and redraw several lines. Everything else passes unchanged and fast. However the output
is cut into pieces, the lines are the same, and no more is kept than the rows that may still be redrawn.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from muster.cli.logs.cells import COLOUR, Row, restyled

LONGEST_LINE = 64 * 1024
"""The length in characters beyond which a line is printed in parts, and cannot be redrawn as a whole."""
_MOST_ROWS = 64
_CALM_LINES = 200
"""After this many lines without a movement up, lines are final again as soon as they end."""
_TAB = 8
_MOVE = r"\x1b\[(?:[0-9]{0,4}[ABCDEFGK]|0?J|\?25[lh])"
_MOVING = re.compile(rf"[\r\x08]|{_MOVE}")
_TOKEN = re.compile(
    rf"(?P<text>[^\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+)"
    rf"|(?P<colour>{COLOUR})|(?P<move>{_MOVE})|(?P<control>\r+|.)",
    re.DOTALL,
)
_BEGUN = re.compile(r"\x1b(?:\[[0-9;:?]{0,60})?")
_LONGEST_BEGUN = 62


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    time: str = ""
    """When it was written, if that is known."""
    is_whole: bool = True
    """Whether it ended with a newline. If not, it is the last one, or goes on in the next."""


class OutputLines:
    def __init__(self, shown: Callable[[str], str], longest: int = LONGEST_LINE) -> None:
        """`shown` makes control characters visible where they must not be obeyed."""
        self._shown = shown
        self._longest = longest
        self._held = ""  # the beginning of an escape sequence, or a carriage return that may belong to a newline
        self._plain = ""  # the unfinished line, as long as nothing was moved in it
        self._rows: list[Row] = []  # the unfinished lines, once something was
        self._row = self._column = 0
        self._style = ""
        self._height, self._calm = 1, 0
        self._time: str | None = None
        self._now = ""
        self._done: list[Line] = []

    def feed(self, text: str, time: str = "") -> list[Line]:
        """Returns the lines that are finished now. `time` is when the text was written."""
        self._now = time
        *lines, rest = self._without_begun(self._held + text).split("\n")
        for line in lines:
            self._add(line.rstrip("\r"))
            self._end_line()
        self._add(rest)
        return self._taken()

    def plain_lines(self, text: str) -> int:
        """How many characters at the beginning of this text are whole lines that `feed` would return as they are. Most
        output is like that, and need not be looked at line by line."""
        if self._plain or self._held or self._rows:
            return 0
        count = text.rfind("\n") + 1
        if not count or count > self._longest or self._height > 1:
            return 0
        is_moved = "\r" in text or "\b" in text or ("\x1b" in text and _MOVING.search(text) is not None)
        return 0 if is_moved else count

    def finish(self) -> list[Line]:
        """Returns what is left at the end of the output."""
        held, self._held = self._held.replace("\r", ""), ""
        self._add(held)
        *above, last = self._texts()
        for text in above:
            self._emit(text)
        if last:
            self._emit(last, is_whole=False)
        self._plain, self._time = "", None
        self._clear()
        return self._taken()

    @property
    def unfinished(self) -> list[str]:
        """The rows that may still change, from the top."""
        rows = self._texts()
        return rows if rows[-1] else rows[:-1]

    def _texts(self) -> list[str]:
        return [row.text() for row in self._rows] if self._rows else [self._shown(self._plain)]

    def _taken(self) -> list[Line]:
        done, self._done = self._done, []
        return done

    def _without_begun(self, text: str) -> str:
        """Hold back what only the next piece will explain."""
        end = len(text)
        escape = text.rfind("\x1b", max(0, end - _LONGEST_BEGUN))
        if escape >= 0 and _BEGUN.fullmatch(text, escape):
            end = escape
        body = text[:end]
        kept = body.rstrip("\r")
        self._held = ("\r" if len(kept) < len(body) else "") + text[end:]
        return kept

    def _add(self, text: str) -> None:
        if not text:
            return
        if self._time is None:
            self._time = self._now
        if not self._rows:
            moved = _MOVING.search(text)
            self._add_plain(text if moved is None else text[: moved.start()])
            if moved is None:
                return
            plain, self._plain = self._plain, ""
            self._clear()
            self._rows = [Row()]
            self._draw(plain)
            text = text[moved.start() :]
        self._draw(text)

    def _add_plain(self, text: str) -> None:
        self._plain += text
        while len(self._plain) > self._longest:
            self._emit(self._shown(self._plain[: self._longest]), is_whole=False)
            self._plain = self._plain[self._longest :]

    def _end_line(self) -> None:
        if not self._rows:
            self._emit(self._shown(self._plain))
            self._plain, self._time = "", None
            return
        self._row, self._column = self._row + 1, 0
        if self._row == len(self._rows):
            self._rows.append(Row())
        self._calm += 1
        if self._calm > _CALM_LINES:
            self._height = 1
        while len(self._rows) > self._height and self._row:
            self._emit(self._rows.pop(0).text())
            self._row -= 1
        self._time = None
        if self._height == 1 and len(self._rows) == 1 and not len(self._rows[0]):
            self._clear()

    def _emit(self, text: str, *, is_whole: bool = True) -> None:
        self._done.append(Line(text, self._now if self._time is None else self._time, is_whole))

    def _clear(self) -> None:
        self._rows = []
        self._row = self._column = 0
        self._style = ""

    def _draw(self, text: str) -> None:
        for token in _TOKEN.finditer(text):
            if token["text"]:
                self._write(token["text"])
            elif token["colour"]:
                self._style = restyled(self._style, token["colour"])
            elif token["move"]:
                self._move(token["move"])
            else:
                self._control(token["control"])

    def _write(self, text: str) -> None:
        while text:
            # A character has at most two columns, so a part never goes beyond the end by more than one.
            fitting = max(1, (self._longest - self._column) // 2)
            part, text = text[:fitting], text[fitting:]
            self._column = self._rows[self._row].write(self._column, part, self._style)
            if self._column >= self._longest:
                self._cut()

    def _cut(self) -> None:
        *above, last = self._texts()
        for text in above:
            self._emit(text)
        self._emit(last, is_whole=False)
        self._rows, self._row, self._column = [Row()], 0, 0

    def _control(self, letter: str) -> None:
        if letter[0] == "\r":
            self._column = 0
        elif letter == "\b":
            self._column = max(0, self._column - 1)
        elif letter == "\t":
            self._write(" " * (_TAB - self._column % _TAB))
        else:
            self._write(self._shown(letter))

    def _move(self, sequence: str) -> None:
        kind, digits = sequence[-1], sequence[2:-1]
        count = int(digits) if digits.isdigit() else 0
        row = self._rows[self._row]
        if kind in "AF":
            self._move_up(max(1, count))
        elif kind in "BE":
            self._row = min(self._row + max(1, count), len(self._rows) - 1)
        elif kind == "C":
            self._column = min(self._column + max(1, count), len(row))
        elif kind == "D":
            self._column = max(0, self._column - max(1, count))
        elif kind == "G":
            self._column = min(max(1, count) - 1, len(row))
        elif kind == "K":
            self._erase(row, count)
        elif kind == "J":
            row.erase(self._column)
            del self._rows[self._row + 1 :]
        if kind in "EF":
            self._column = 0

    def _move_up(self, count: int) -> None:
        """What is above the first row is printed already. From now on, so many lines stay open."""
        self._calm = 0
        missing = count - self._row
        if missing > 0:
            self._height = min(_MOST_ROWS, self._height + missing)
        self._row = max(0, self._row - count)

    def _erase(self, row: Row, part: int) -> None:
        if part == 0:
            row.erase(self._column)
        elif part == 1:
            row.erase(0, self._column + 1)
        else:
            row.erase(0)
