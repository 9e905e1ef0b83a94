"""Says on stderr why a followed job has not started yet, so that silence is never a riddle."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from muster.client.errors import MusterError
from muster.client.handles import JobHandle

_FIRST_S = 1.5  # most jobs have started by then, and need no words
_AGAIN_S = 5.0
_WAITING = frozenset({"Queued", "Held", "Starting"})


@contextmanager
def told_while_waiting(handle: JobHandle, say: Callable[[str], None], first_s: float = _FIRST_S) -> Iterator[None]:
    """While the block runs and the job has not started, each new reason is said once."""
    over = threading.Event()
    thread = threading.Thread(target=_tell, args=(handle.twin(), say, over, first_s), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


def _tell(handle: JobHandle, say: Callable[[str], None], over: threading.Event, pause_s: float) -> None:
    said = ""
    while not over.wait(pause_s):
        pause_s = _AGAIN_S
        try:
            job = handle.refresh().view
        except MusterError:
            continue  # the stream that is followed meanwhile knows what to do about it
        if job.state not in _WAITING:
            return
        words = f"{job.state}: {job.reason}" if job.reason else job.state
        if words != said:
            say(f"  {words}")
            said = words
