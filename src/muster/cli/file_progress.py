"""A line on the terminal with the progress of file transfers. It appears only if they take a while."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from muster.cli.terminal import safe
from muster.lib.counting import counted
from muster.lib.quantities import about_bytes

if TYPE_CHECKING:
    from muster.client.files import Progress

_QUIET_S = 2.0
_REDRAWN_S = 0.2


class Stopped(Exception):
    """Raised in the transfer threads after Ctrl-C."""


class FileLine:
    """The progress line. Several threads may update it."""

    def __init__(self, what: str, is_shown: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._is_shown = is_shown
        self._clock = clock
        self._started_at = clock()
        self._drawn_at = 0.0
        self._width = 0
        self._turn = threading.Lock()
        self.is_stopped = False
        self.files = self.bytes = 0
        self.expected_files = self.expected_bytes = 0

    def moved(self, count: int) -> None:
        with self._turn:
            self.bytes += count
            self._draw(self._transfer)
        if self.is_stopped:
            raise Stopped

    def finished(self) -> None:
        with self._turn:
            self.files += 1
            self._draw(self._transfer)

    def remote_progress(self, progress: "Progress") -> None:
        """Shows the progress of an operation on the node."""
        with self._turn:
            self._draw(lambda: f"{counted(progress.files, 'file')}, {about_bytes(progress.bytes)}")

    def clear(self) -> None:
        if self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)

    def _transfer(self) -> str:
        rate = self.bytes / max(self._clock() - self._started_at, 0.001)
        if not self.expected_bytes:
            return f"{about_bytes(self.bytes)}, {about_bytes(rate)}/s"
        share = 100 * self.bytes / self.expected_bytes
        files = f", {self.files} of {self.expected_files} files" if self.expected_files > 1 else ""
        whole = f"{about_bytes(self.bytes)} of {about_bytes(self.expected_bytes)}"
        return f"{share:3.0f} %, {whole}{files}, {about_bytes(rate)}/s"

    def _draw(self, text: Callable[[], str]) -> None:
        now = self._clock()
        if not self._is_shown or now - self._started_at < _QUIET_S or now - self._drawn_at < _REDRAWN_S:
            return
        self._drawn_at = now
        line = safe(f"{self._what}: {text()}")
        self._width = max(self._width, len(line))
        click.echo("\r" + line.ljust(self._width), nl=False, err=True)


@contextmanager
def file_line(what: str) -> Iterator[FileLine]:
    line = FileLine(what, sys.stderr.isatty())
    try:
        yield line
    finally:
        line.clear()
