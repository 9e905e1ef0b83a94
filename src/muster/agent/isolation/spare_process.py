"""A process that was forked ahead of time and waits to become the next command under another account.

Forking takes longer than all that such a command needs besides, and nobody has to wait for it here. Meanwhile the
process rehearses the start of a command like the last one. It ends by itself when the one that forked it does.
"""

from __future__ import annotations

import json
import os
import select
from typing import List, NoReturn, Optional, Tuple

from muster.agent.isolation.confined_start import Command, Confinement, forked, rehearse, run_as_account
from muster.agent.isolation.copy_of_mounts import EarlyCopy

_PIECE_BYTES = 1 << 16


class SpareProcess:
    def __init__(self) -> None:
        self.pid: Optional[int] = None
        self._order = -1

    def prepare(self, last: Command, confinement: Confinement) -> None:
        """`last` is the command that was started last, and most likely resembles the next one."""
        if self.pid is not None:
            return
        reading, writing = os.pipe()
        self.pid = forked(lambda: _await_order(reading, writing, _encoded(last, confinement)))
        self._order = writing
        os.close(reading)

    def become(self, command: Command, confinement: Confinement) -> Optional[int]:
        """The pid of the command, or None if there is no process that waits."""
        pid = self.pid
        if pid is None:
            return None
        try:
            _write_all(self._order, _encoded(command, confinement))
        except OSError:
            pid = None
        self.forget()
        return pid

    def forget(self) -> None:
        """It has become a command, or it has ended."""
        if self.pid is not None:
            os.close(self._order)
        self.pid = None


def _await_order(reading: int, writing: int, last: bytes) -> NoReturn:
    os.close(writing)
    mounts = EarlyCopy()
    _rehearse(mounts, *_decoded(last))
    ready = select.poll()
    ready.register(reading, select.POLLIN)
    ready.register(mounts.table, select.POLLPRI)
    if reading not in [fd for fd, _ in ready.poll()]:
        mounts.give_up()
    order = _read_all(reading)
    if not order:
        os._exit(0)
    command, confinement = _decoded(order)
    if not confinement.needs_mounts:
        mounts.give_up()
    run_as_account(command, confinement, mounts.make)


def _rehearse(mounts: EarlyCopy, command: Command, confinement: Confinement) -> None:
    try:
        if confinement.covered is not None:
            mounts.make()
        rehearse(command, confinement)
    except OSError:
        mounts.give_up()  # the command will find out and say what is wrong


def _encoded(command: Command, confinement: Confinement) -> bytes:
    return json.dumps([command, confinement]).encode("utf-8")


def _decoded(order: bytes) -> Tuple[Command, Confinement]:
    command, confinement = json.loads(order.decode("utf-8"))
    return Command(*command), Confinement(*confinement)


def _read_all(fd: int) -> bytes:
    pieces: List[bytes] = []
    while True:
        piece = os.read(fd, _PIECE_BYTES)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]
