"""`muster operator` as a process of this machine, for tests."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class OperatorProcess:
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


@contextlib.contextmanager
def running_operator(
    kubeconfig: Path, log: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> Iterator[OperatorProcess]:
    """It is killed at the end. It opens no ports unless the arguments say so."""
    closed = ("--metrics-bind-address=0", "--health-probe-bind-address=0")
    program = Path(sys.executable).parent / "muster"
    command = [str(program), "operator", f"--kubeconfig={kubeconfig}", *closed, *arguments]
    with log.open("ab") as written:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )
    try:
        yield OperatorProcess(process, log)
    finally:
        process.kill()
        process.wait(60)
