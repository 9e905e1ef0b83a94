"""The end of the server after a signal: it is announced in the home folder, and it has a limit.

Python waits for its worker threads before it exits, and a thread that reads a slow disk cannot be interrupted. When the
limit has passed, the process exits without them. Nothing is lost, because a request is answered only when its change is
in the database.
"""

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import structlog

from muster.bootstrap.home_folder import note_stopping

WITHIN_S = 15.0
_FLUSH_WITHIN_S = 1.0
_log = structlog.get_logger("server")


class Departure:
    def __init__(self, home: Path | None, within_s: float) -> None:
        """`home` is the folder that this process has locked."""
        self._home = home
        self._within_s = within_s
        self._has_begun = False

    def begin(self, number: int) -> None:
        """A signal has asked the server to end."""
        if self._has_begun:
            return
        self._has_begun = True
        if self._home is not None:
            note_stopping(self._home)
        timer = threading.Timer(self._within_s, self._leave, (number,))
        timer.daemon = True
        timer.start()

    def _leave(self, number: int) -> None:
        # A thread of its own writes the message: a pipe that nobody reads must not keep the process alive.
        writing = threading.Thread(target=self._warn, daemon=True)
        writing.start()
        writing.join(_FLUSH_WITHIN_S)
        os._exit(128 + number)

    def _warn(self) -> None:
        _log.warning("the server exits without waiting for its threads, which are still busy", after_s=self._within_s)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
