"""Ports for servers that are known by their port before they listen, or are started again at the same one.

They are below those that the kernel gives to outgoing connections and those that agents give to tasks, either of which
could have a port while its server is down. Tests that run at the same time have ranges of their own.
"""

import itertools
import os
import socket
from contextlib import suppress

_FIRST, _COUNT, _RANGES = 12_000, 500, 16
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw15").removeprefix("gw")) % _RANGES
_turns = itertools.count(os.getpid())


def free_port() -> int:
    """None is given twice before all others were."""
    for _ in range(_COUNT):
        port = _FIRST + _WORKER * _COUNT + next(_turns) % _COUNT
        with suppress(OSError), socket.create_server(("", port)):
            return port
    raise AssertionError(f"none of {_COUNT} ports is free")
