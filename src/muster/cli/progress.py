"""Prints a percentage on the terminal during long operations. It appears only if they take a while."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

_QUIET_S = 2.0
_REDRAWN_S = 0.2
_ROOM = len(": 100 %")


@contextmanager
def progress(name: str, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[float], None] | None]:
    """Yields a function that takes the finished share; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    started_at = clock()
    drawn_at = 0.0

    def show(share: float) -> None:
        nonlocal drawn_at
        now = clock()
        if now - started_at >= _QUIET_S and now - drawn_at >= _REDRAWN_S:
            drawn_at = now
            click.echo(f"\r{name}: {share * 100:3.0f} %", nl=False, err=True)

    try:
        yield show
    finally:
        if drawn_at:
            click.echo("\r" + " " * (len(name) + _ROOM) + "\r", nl=False, err=True)
