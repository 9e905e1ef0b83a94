"""A process that was forked ahead of time and waits to become the next command under another account.

Forking takes longer than all that such a command needs besides, and nobody has to wait for it here. The process ends
by itself when the one that forked it does.
"""

from __future__ import annotations

import json
import os
from typing import NoReturn, Optional

from muster.agent.isolation.confined_start import Command, Confinement, forked, run_as_account

_PIECE_BYTES = 1 << 16


class SpareProcess:
    def __init__(self) -> None:
        self.pid: Optional[int] = None
        self._order = -1

    def prepare(self) -> None:
        if self.pid is not None:
            return
        reading, writing = os.pipe()
        self.pid = forked(lambda: _await_order(reading, writing))
        self._order = writing
        os.close(reading)

    def become(self, command: Command, confinement: Confinement) -> Optional[int]:
        """The pid of the command, or None if there is no process that waits."""
        pid = self.pid
        if pid is None:
            return None
        try:
            _write_all(self._order, json.dumps([command, confinement]).encode("utf-8"))
        except OSError:
            pid = None
        self.forget()
        return pid

    def forget(self) -> None:
        """It has become a command, or it has ended."""
        if self.pid is not None:
            os.close(self._order)
        self.pid = None


def _await_order(reading: int, writing: int) -> NoReturn:
    os.close(writing)
    pieces = []
    while True:
        piece = os.read(reading, _PIECE_BYTES)
        if not piece:
            break
        pieces.append(piece)
    if not pieces:
        os._exit(0)
    command, confinement = json.loads(b"".join(pieces).decode("utf-8"))
    run_as_account(Command(*command), Confinement(*confinement))


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
