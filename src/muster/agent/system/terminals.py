"""Terminals of commands: opening one, its size, and passing its other end to the process that serves it."""

from __future__ import annotations

import array
import fcntl
import os
import socket
import struct
import termios
from typing import Optional, Tuple

ROWS, COLUMNS = 24, 80
"""The size of a terminal before anybody has looked at it."""


def opened(rows: int = ROWS, columns: int = COLUMNS) -> Tuple[int, int]:
    """Opens a terminal and returns both its ends, of which the second is for the command."""
    master, slave = os.openpty()
    set_size(slave, rows, columns)
    return master, slave


def take(slave: int) -> None:
    """Make it the terminal of this process, which leads its session, and of all that it starts."""
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)


def set_size(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def size_of(terminal: int) -> Tuple[int, int]:
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, b"\0" * 8))
    return rows, columns


def send_descriptor(control: socket.socket, descriptor: int) -> None:
    control.sendmsg([b"d"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])


def received_descriptor(control: socket.socket) -> Optional[int]:
    """Returns None if the other side has hung up without sending one."""
    try:
        _, ancillary, _, _ = control.recvmsg(1, socket.CMSG_LEN(array.array("i").itemsize))
    except OSError:
        return None
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    if not descriptors:
        return None
    os.set_inheritable(descriptors[0], False)
    return descriptors[0]
