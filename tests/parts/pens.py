"""Processes that end together: those of a pen have namespaces of their own, and die when the pen or its test does.

The first process of the pen reads from a pipe whose other end only the test has. When the test is gone, however that
happened, it ends, and the kernel then kills all other processes of the pen, whatever their parents and sessions are.
"""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.parts.host_claims import PATH
from tests.parts.server import polls

_START_S = 20.0
# The first process of a namespace inherits its orphans, and must wait for them. It says when all is prepared.
_FIRST_PROCESS = (
    "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); print(flush=True); os.read(0, 1)"
)


class Pen:
    def __init__(self, name: str, hosts_file: Path | None = None) -> None:
        """A host called `name`, with a process table, and where it is given an /etc/hosts, of its own."""
        script = f"hostname {name} && "
        if hosts_file is not None:
            script += f"mount --bind {hosts_file} /etc/hosts && "
        own = ["unshare", "--pid", "--uts", "--mount-proc", "--propagation", "slave", "--kill-child"]
        self._first = subprocess.Popen(
            [*own, "sh", "-c", f"{script}exec python3 -S -c '{_FIRST_PROCESS}'"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": PATH},
        )
        assert self._first.stdout is not None
        assert self._first.stdout.readline() == b"\n", f"no namespaces could be made for {name}"

    def start(
        self, argv: Sequence[str | Path], log: Path, env: Mapping[str, str], as_user: Sequence[str] = ()
    ) -> "Program":
        """Starts a program in the pen, which goes on until it ends or the pen is closed."""
        (inside,) = _children(self._first.pid)
        enter = ["nsenter", f"--target={inside}", "--pid", "--uts", "--mount", *as_user]
        with log.open("ab") as output:
            process = subprocess.Popen(
                [*enter, *map(str, argv)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={"PATH": PATH, **env},
                cwd="/",
            )
        return Program(process, log)

    def kill_below(self, title: re.Pattern[str]) -> bool:
        """Kills all that programs with such a title have started in the pen, and not those programs. Whether there are
        such."""
        programs = [pid for pid in _descendants(self._first.pid) if title.match(_title(pid))]
        started = [pid for program in programs for pid in _descendants(program)]
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return bool(programs)

    def close(self) -> None:
        """Kills all that is in it."""
        assert self._first.stdin is not None
        assert self._first.stdout is not None
        self._first.stdin.close()
        self._first.stdout.close()
        self._first.wait(60)


class Program:
    """A program in a pen; what its files contain as its process id is another number."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._outside = process
        self.log = log

    @property
    def pid(self) -> int:
        """As the tests see it."""
        for _ in polls(_START_S):
            if children := _children(self._outside.pid):
                return children[0]
        raise AssertionError(f"the program did not start:\n{self.said}")

    @property
    def is_running(self) -> bool:
        return self._outside.poll() is None

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        """Kills it without warning; what it started goes on."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """nsenter stops with the program that it waits for."""
        self._outside.send_signal(signal.SIGCONT)
        os.kill(self.pid, signal.SIGCONT)

    def wait(self) -> None:
        self._outside.wait(60)

    def _end(self, number: signal.Signals) -> None:
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
        self.wait()


def _descendants(pid: int) -> list[int]:
    return [one for child in _children(pid) for one in (child, *_descendants(child))]


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
