"""Asks the holder of a task's standard input for it. These calls wait for the holder, and belong on a thread."""

from __future__ import annotations

import os
import socket
from typing import Optional

from muster.agent.interaction.holder import END_INPUT, GIVE_INPUT
from muster.agent.system.terminals import received_descriptor

_ANSWER_WITHIN_S = 10.0


def held_input(folder: str, name: str) -> Optional[int]:
    """The descriptor into which input for the task is written. None if it takes none any more."""
    try:
        with _connected(folder, name) as holder:
            holder.sendall(GIVE_INPUT)
            return received_descriptor(holder)
    except OSError:
        return None


def end_input(folder: str, name: str) -> None:
    """There will be no more input. This means nothing for a terminal, where Ctrl-D says so."""
    try:
        with _connected(folder, name) as holder:
            holder.sendall(END_INPUT)
            holder.recv(1)
    except OSError:
        pass  # it has no input any more


def _connected(folder: str, name: str) -> socket.socket:
    """Connects by way of the folder, because the path of a socket must be short."""
    parent = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    holder.settimeout(_ANSWER_WITHIN_S)
    try:
        holder.connect("/proc/self/fd/{}/{}".format(parent, name))
    except OSError:
        holder.close()
        raise
    finally:
        os.close(parent)
    return holder
