"""Ports and addresses for each Slurm cluster of tests that run at the same time.

A cluster's number gives them. They are below the ports that the system hands out, and a file that is locked as long as
the test run lives keeps others from the number.
"""

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LOCKS = Path("/tmp/muster-test-slurm")
_NUMBERS = range(200)
_PORTS_EACH = 32
_FIRST_PORT = 20_000
_FIRST_NETWORK = 40


@dataclass(frozen=True)
class SlurmNumber:
    number: int

    @property
    def controller_port(self) -> int:
        return self._port(0)

    @property
    def accounting_port(self) -> int:
        return self._port(1)

    @property
    def database_port(self) -> int:
        return self._port(2)

    def node_port(self, index: int) -> int:
        return self._port(8 + index)

    def node_address(self, index: int) -> str:
        """An address on the machine's loopback that no other cluster has."""
        return f"127.{_FIRST_NETWORK + self.number}.0.{index + 1}"

    def is_free(self) -> bool:
        return all(_is_free(self._port(offset)) for offset in range(_PORTS_EACH))

    def _port(self, offset: int) -> int:
        return _FIRST_PORT + self.number * _PORTS_EACH + offset


@contextlib.contextmanager
def claimed_number() -> Iterator[SlurmNumber]:
    _LOCKS.mkdir(exist_ok=True)
    for each in _NUMBERS:
        with (_LOCKS / f"{each}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            number = SlurmNumber(each)
            if number.is_free():
                lock.write(f"{os.getpid()}\n")
                lock.flush()
                yield number
                return
    raise RuntimeError(f"{len(_NUMBERS)} Slurm clusters run already, or others use their ports: see {_LOCKS}")


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("", port))
        except OSError:
            return False
    return True
