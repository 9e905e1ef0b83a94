"""Prints on stderr why a followed job has not started yet."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from muster.client.errors import MusterError
from muster.client.handles import JobHandle

_FIRST_S = 1.5  # most jobs have started by then
_AGAIN_S = 5.0
_WAITING = frozenset({"Queued", "Held", "Starting"})


@contextmanager
def print_wait_reasons(handle: JobHandle, say: Callable[[str], None], first_s: float = _FIRST_S) -> Iterator[None]:
    """While the block runs and the job has not started, prints each new reason once."""
    over = threading.Event()
    thread = threading.Thread(target=_print_reasons, args=(handle.twin(), say, over, first_s), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


def _print_reasons(handle: JobHandle, say: Callable[[str], None], over: threading.Event, pause_s: float) -> None:
    said = ""
    while not over.wait(pause_s):
        pause_s = _AGAIN_S
        try:
            job = handle.refresh().view
        except MusterError:
            continue  # the log stream reports it
        if job.state not in _WAITING:
            return
        words = f"{job.state}: {job.reason}" if job.reason else job.state
        if words != said:
            say(f"  {words}")
            said = words
