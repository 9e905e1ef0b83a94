"""`muster operator` as a process of this machine, for tests: it can be killed and started again."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.parts.server import polls

_NO_PORTS = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
_MUSTER = Path(sys.executable).parent / "muster"


@dataclass
class OperatorProcess:
    """It opens no ports unless the arguments say so. Its log is kept over restarts."""

    kubeconfig: Path
    log: Path
    arguments: tuple[str, ...] = ()
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self, env: Mapping[str, str] | None = None) -> None:
        command = [str(_MUSTER), "operator", f"--kubeconfig={self.kubeconfig}", *_NO_PORTS, *self.arguments]
        with self.log.open("ab") as written:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
            )

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """As if its node had lost power."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def await_log(self, words: str, timeout_s: float = 60) -> None:
        for _ in polls(timeout_s):
            if words in self.said:
                return
        raise AssertionError(f"{words!r} is not in the log:\n{self.said}")

    def _end(self, number: signal.Signals) -> int:
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self._process.wait(60)


@contextlib.contextmanager
def running_operator(
    kubeconfig: Path, log: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[OperatorProcess]:
    """It is killed at the end."""
    operator = OperatorProcess(kubeconfig, log, arguments)
    operator.start(env)
    try:
        yield operator
    finally:
        operator.kill()
