"""The operator as a process, for tests on a real cluster: it serves one namespace, and can be killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.parts.kube import Kube
from tests.parts.server import polls

_QUIET = ("--metrics-bind-address", "0", "--health-probe-bind-address", "0")


@dataclass
class OperatorProcess:
    """`muster operator` for one namespace. Its log is kept over restarts."""

    kube: Kube
    namespace: str
    log: Path
    arguments: tuple[str, ...] = _QUIET
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self, variables: Mapping[str, str] | None = None) -> None:
        kubeconfig = ("--kubeconfig", str(self.kube.cluster.kubeconfig))
        command = [sys.executable, "-m", "muster.operator", *kubeconfig, "--namespace", self.namespace]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*command, *self.arguments], stdout=output, stderr=output, env={**os.environ, **(variables or {})}
            )

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """As if its node had lost power."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGTERM)

    def await_end(self, timeout_s: float = 60) -> int:
        assert self.process is not None
        for _ in polls(timeout_s):
            if (code := self.process.poll()) is not None:
                return code
        raise AssertionError(f"the operator still runs:\n{self.log.read_text()}")

    def await_log(self, words: str, timeout_s: float = 60) -> None:
        for _ in polls(timeout_s):
            if words in self.log.read_text():
                return
        raise AssertionError(f"{words!r} is not in the log:\n{self.log.read_text()}")

    def _end(self, number: signal.Signals) -> int:
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def running_operator(kube: Kube, namespace: str, log: Path, *arguments: str) -> Iterator[OperatorProcess]:
    operator = OperatorProcess(kube, namespace, log, (*_QUIET, *arguments))
    operator.start()
    try:
        yield operator
    finally:
        operator.kill()
