"""Tables of paddlecloud: columns are separated by a tab, and what is not there is `<nil>`."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from muster.cli.terminal import echo

NIL = "<nil>"
Cell = str | int | None


def print_table(titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    echo("\t".join(titles))
    for row in rows:
        echo("\t".join(NIL if cell is None else str(cell).replace("\t", " ") for cell in row))


def utc(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
