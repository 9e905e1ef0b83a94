"""Reads CSV files, compressed or not, by the names in their header. Every wrong row is reported with its line."""

import csv
import gzip
import io
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

from muster.domain.errors import Invalid, Problem
from muster.lib.nearest import nearest

REPORTED = 20
_GZIP = b"\x1f\x8b"
Row = TypeVar("Row")


@dataclass(slots=True)
class Cells:
    """One row while it is read: what is wrong with it gathers here."""

    line: int
    texts: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)

    def text(self, column: str) -> str:
        return self.texts.get(column, "")

    def number(self, column: str, *, default: float | None = None) -> float:
        """Reads a number that is at least 0. Without a default, an empty cell is a problem."""
        text = self.text(column)
        if not text and default is not None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and value >= 0:
            return value
        self.refuse(column, f"{text!r} is not a number of at least 0" if text else "is empty")
        return 0.0

    def optional(self, column: str) -> float | None:
        return self.number(column) if self.text(column) else None

    def refuse(self, column: str, message: str) -> None:
        self.problems.append(Problem(column, message, line=self.line))


def read_table(
    path: Path, required: tuple[str, ...], known: tuple[str, ...], read: Callable[[Cells], Row]
) -> list[Row]:
    """`read` makes a value of a row. Raises Invalid with the first wrong rows when there are any."""
    rows: list[Row] = []
    problems: list[Problem] = []
    wrong_rows = 0
    with _opened(path) as file:
        for cells in _cells(path, file, required, known):
            row = read(cells)
            if cells.problems:
                wrong_rows += 1
                problems += cells.problems
            else:
                rows.append(row)
    if problems:
        raise Invalid(_how_many(path, wrong_rows, problems), problems=tuple(problems[:REPORTED]))
    return rows


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """Recognises compression by the content, not by the name, so that a pipe will do."""
    with path.open("rb") as raw:
        plain = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw
        try:
            with io.TextIOWrapper(plain, encoding="utf-8-sig", newline="") as text:
                yield text
        except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, csv.Error) as error:
            raise Invalid(f"{path} cannot be read as CSV: {error}", hint="a CSV in UTF-8, or one in gzip") from error


def _cells(path: Path, file: IO[str], required: tuple[str, ...], known: tuple[str, ...]) -> Iterator[Cells]:
    rows = csv.reader(file)
    header = [name.strip() for name in next(rows, [])]
    missing = [name for name in required if name not in header]
    if missing:
        raise _no_such_column(path, missing, header, known)
    for texts in rows:
        if not any(texts):
            continue
        cells = Cells(rows.line_num, dict(zip(header, map(str.strip, texts), strict=False)))
        if len(texts) > len(header):
            cells.refuse("", f"{len(texts)} values, but the header names {len(header)}")
        yield cells


def _no_such_column(path: Path, missing: list[str], header: list[str], known: tuple[str, ...]) -> Invalid:
    strange = [name for name in header if name and name not in known]
    guesses = ((name, nearest(name, strange)) for name in missing)
    hints = [f"is {guess!r} meant to be {name!r}?" for name, guess in guesses if guess]
    has = ", ".join(header) or "no header line"
    return Invalid(
        f"{path} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; it has {has}",
        hint="; ".join(hints) or f"the first line names the columns: {', '.join(known)}",
    )


def _how_many(path: Path, wrong_rows: int, problems: list[Problem]) -> str:
    shown = f"; the first {REPORTED} problems" if len(problems) > REPORTED else ""
    return f"{path} has {wrong_rows} wrong row{'s' if wrong_rows > 1 else ''}{shown}"
