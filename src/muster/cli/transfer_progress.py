"""A progress bar for a transfer, on stderr. It appears only on a terminal, and only if the transfer takes a while."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from muster.cli.session import say
from muster.client.uploading import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_DELAY_S = 2.0


@contextmanager
def upload_progress() -> Iterator[Progress | None]:
    """Yields the progress callback for `Client.send`."""
    with transfer_progress("uploading") as progress:
        yield progress


@contextmanager
def transfer_progress(doing: str) -> Iterator[Progress | None]:
    """Yields a callback that takes the transferred and the total bytes. The bar is removed at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    transfer = _Transfer(doing)
    try:
        yield transfer.update
    finally:
        transfer.stop()


def announce_packing(folder: Path, left_out: int) -> None:
    """A folder that is left out counts as one: nobody has looked into it."""
    what = "file or folder" if left_out == 1 else "files and folders"
    by_rules = f" ({left_out} {what} left out by .gitignore or .musterignore)" if left_out else ""
    say(f"packing {folder}{by_rules}")


class _Transfer:
    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._started = time.monotonic()
        self._bar: Bar | None = None
        self._line: TaskID | None = None

    def update(self, received: int, total: int) -> None:
        if self._bar is None and time.monotonic() - self._started < _DELAY_S:
            return
        if self._bar is None or self._line is None:
            self._bar, self._line = _started_bar(self._doing, total)
        self._bar.update(self._line, completed=received, total=total)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _started_bar(doing: str, total: int) -> "tuple[Bar, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    bar = Progress(
        doing, BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    )
    bar.start()
    return bar, bar.add_task(doing, total=total)
