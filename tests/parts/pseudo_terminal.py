"""A program at a pseudo-terminal, as a person has it: keys go in, what is on the screen comes out."""

import os
import pty
import select
import subprocess
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import ioctl
from struct import pack

from tests.parts.server import PATIENCE

_READ_WITHIN_S = 30.0


class AtTerminal:
    def __init__(self, argv: Sequence[str], env: Mapping[str, str], rows: int = 30, columns: int = 90) -> None:
        self._master, self._slave = pty.openpty()
        self.resize(rows, columns)
        self.attributes = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            argv,
            env={**env, "TERM": "xterm"},
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self.screen = ""
        self.written = ""
        """All that was printed so far, also what was seen already."""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        ioctl(self._master, termios.TIOCSWINSZ, pack("HHHH", rows, columns, 0, 0))

    def see(self, text: str) -> None:
        """Waits until the text has appeared since the last text that was seen."""
        deadline = time.monotonic() + PATIENCE * _READ_WITHIN_S
        while text not in self.screen:
            assert time.monotonic() < deadline, f"{text!r} is not on the screen: {self.screen!r}"
            self._read()
        self.screen = self.screen.partition(text)[2]

    def see_state(self, is_seen: Callable[[], bool]) -> None:
        """Waits until what was written so far is as it should be."""
        deadline = time.monotonic() + PATIENCE * _READ_WITHIN_S
        while not is_seen():
            assert time.monotonic() < deadline, f"it never was: {self.written!r}"
            self._read()

    def wait(self) -> int:
        """The exit code. What the program prints until then is on the screen."""
        deadline = time.monotonic() + PATIENCE * _READ_WITHIN_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it has not ended: {self.screen!r}"
            self._read()
        while self._read():
            pass  # what it printed last
        return self.process.returncode

    @property
    def is_restored(self) -> bool:
        return termios.tcgetattr(self._slave) == self.attributes

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self._slave)

    def _read(self) -> bool:
        """Whether there was something to read."""
        if not select.select([self._master], [], [], 0.05)[0]:
            return False
        text = self._decoder.decode(os.read(self._master, 1 << 16))
        self.screen += text
        self.written += text
        return True


@contextmanager
def at_terminal(argv: Sequence[str], env: Mapping[str, str]) -> Iterator[AtTerminal]:
    made = AtTerminal(argv, env)
    try:
        yield made
    finally:
        made.close()
