"""Rows, bars and the one table they are printed in. It measures nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    MILLISECONDS = "ms"
    SECONDS = "s"
    PER_SECOND = "/s"
    MEGABYTES = "MB"
    PERCENT = "%"
    TIMES = "x"
    COUNT = ""


class Limit(Enum):
    AT_MOST = "at most"
    AT_LEAST = "at least"


class Judged(Enum):
    RATIO = "ratio"
    VALUE = "value"


@dataclass(frozen=True)
class Bar:
    """What must hold, and of what: Muster's figure itself, or Muster's divided by the peer's."""

    limit: Limit
    bound: float
    judged: Judged
    aim: float | None = None


def ratio_at_most(bound: float, aim: float | None = None) -> Bar:
    return Bar(Limit.AT_MOST, bound, Judged.RATIO, aim)


def ratio_at_least(bound: float, aim: float | None = None) -> Bar:
    return Bar(Limit.AT_LEAST, bound, Judged.RATIO, aim)


def at_most(bound: float, aim: float | None = None) -> Bar:
    return Bar(Limit.AT_MOST, bound, Judged.VALUE, aim)


def at_least(bound: float, aim: float | None = None) -> Bar:
    return Bar(Limit.AT_LEAST, bound, Judged.VALUE, aim)


@dataclass(frozen=True)
class Sheet:
    """A table of its own below the others, for what has more columns than a row: all text, the first line its head."""

    title: str
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Row:
    """One line. A figure that could not be measured is None and `note` says why."""

    what: str
    unit: Unit
    muster: float | None = None
    peer: str = ""
    theirs: float | None = None
    bar: Bar | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        if self.muster is None or not self.theirs:
            return None
        return self.muster / self.theirs

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        judged = self.ratio if self.bar.judged is Judged.RATIO else self.muster
        if judged is None:
            return "not measured"
        return _verdict(self.bar, judged)


def _verdict(bar: Bar, judged: float) -> str:
    def holds(bound: float) -> bool:
        return judged <= bound if bar.limit is Limit.AT_MOST else judged >= bound

    if not holds(bar.bound):
        return f"MISSED by {abs(judged - bar.bound) / bar.bound:.0%}" if bar.bound else "MISSED"
    if bar.aim is None:
        return "met"
    return "met, aim too" if holds(bar.aim) else "met, aim not"


def render(parts: Sequence[Row | Sheet]) -> str:
    """The one table, then the sheets."""
    header = ("what", "muster", "peer", "", "ratio", "bar", "verdict", "note")
    rows = [_cells(part) for part in parts if isinstance(part, Row)]
    sheets = [f"{part.title}\n{_drawn(part.lines)}" for part in parts if isinstance(part, Sheet)]
    return "\n\n".join([_drawn([header, *rows]), *sheets])


def _drawn(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = tuple("-" * width for width in widths)
    drawn = [lines[0], rule, *lines[1:]]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in drawn
    )


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    return (
        row.what,
        _figure(row.muster, row.unit),
        row.peer,
        _figure(row.theirs, row.unit) if row.peer else "",
        ratio,
        _bar(row),
        row.verdict,
        row.note,
    )


def _figure(value: float | None, unit: Unit) -> str:
    if value is None:
        return "-"
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {unit.value}".rstrip()


def _bar(row: Row) -> str:
    if row.bar is None:
        return ""
    sign = "<=" if row.bar.limit is Limit.AT_MOST else ">="
    aim = row.bar.aim
    if row.bar.judged is Judged.RATIO:
        return f"{sign} {row.bar.bound:g} of peer" + ("" if aim is None else f", aim {aim:g}")
    return f"{sign} {_figure(row.bar.bound, row.unit)}" + ("" if aim is None else f", aim {_figure(aim, row.unit)}")
