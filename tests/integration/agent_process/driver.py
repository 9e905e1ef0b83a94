"""Speaks to a real agent over its pipe, the way a server does, and waits for what it says with deadlines."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from muster.agent.system.frames import FrameDecoder, Message, encode

SOURCES = Path(__file__).parents[3] / "src"
DEADLINE_S = 60.0


class Refused(Exception):
    def __init__(self, answer: Message) -> None:
        super().__init__(answer["message"])
        self.code: str = answer["error"]


class Agent:
    """One agent process. Pushes are kept in `events`, in the order in which they came."""

    def __init__(self, command: Sequence[str], root: Path, extra_env: dict[str, str] | None = None) -> None:
        self.root = root
        env = {"PATH": os.environ["PATH"], "HOME": "/tmp", "PYTHONPATH": str(SOURCES), **(extra_env or {})}
        self.process = subprocess.Popen(
            [*command, "--root", str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        )
        self.events: list[Message] = []
        self._answers: dict[int, Message] = {}
        self._decoder = FrameDecoder()
        self._next_id = 0
        self._selector = selectors.DefaultSelector()
        assert self.process.stdout is not None
        self._selector.register(self.process.stdout, selectors.EVENT_READ)

    def ask(self, op: str, **fields: Any) -> Message:
        return self.answer(self.send(op, **fields))

    def answer(self, number: int) -> Message:
        """To something that was sent before."""
        self.read_until(lambda: number in self._answers, f"the answer to request {number}")
        answer = self._answers.pop(number)
        if not answer["ok"]:
            raise Refused(answer)
        return answer

    def has_answer(self, number: int) -> bool:
        """Whether the answer has come with those that were waited for."""
        return number in self._answers

    def send(self, op: str, **fields: Any) -> int:
        self._next_id += 1
        assert self.process.stdin is not None
        self.process.stdin.write(encode({"id": self._next_id, "op": op, **fields}))
        self.process.stdin.flush()
        return self._next_id

    def launch(self, task: str, *argv: str, **fields: Any) -> Message:
        order = {"argv": list(argv), "env": {}, "ports": [], "files": {}, "devices": [], **fields}
        status: Message = self.ask("launch", task=task, **order)["status"]
        return status

    def run(self, task: str, *argv: str, **fields: Any) -> Message:
        self.launch(task, *argv, **fields)
        return self.wait_phase(task, "ended")

    def shell(self, task: str, script: str, **fields: Any) -> Message:
        return self.launch(task, "/bin/sh", "-c", script, **fields)

    def status(self, task: str) -> Message:
        statuses: list[Message] = self.ask("list")["tasks"]
        return next(status for status in statuses if status["task"] == task)

    def wait_phase(self, task: str, phase: str) -> Message:
        """The status with which the agent said, by itself, that the task came to this phase."""

        def said() -> list[Message]:
            statuses = [event["status"] for event in self.events if event["event"] == "task"]
            return [status for status in statuses if status["task"] == task and status["phase"] == phase]

        self.read_until(lambda: bool(said()), f"{task} to be {phase}")
        return said()[0]

    def read_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"waited in vain for {what}; events: {self.events}")
            if self._selector.select(left):
                self._read()

    def log(self, task: str) -> bytes:
        return (self.root / "tasks" / task / "log").read_bytes()

    def close(self) -> int:
        """Hang up, as a server that goes away does."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self._gone()

    def kill(self) -> None:
        self.process.kill()
        self._gone()

    def _gone(self) -> int:
        code = self.process.wait(DEADLINE_S)
        self._selector.close()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        assert data, f"the agent has gone with code {self.process.wait(DEADLINE_S)}"
        for message in self._decoder.feed(data):
            if "event" in message:
                self.events.append(message)
            else:
                self._answers[message["id"]] = message


def wait_until(condition: Callable[[], object], what: str) -> None:
    """For what only the file system or the process table can tell; the agent's own words are waited for above."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


def private_ports(count: int) -> str:
    """A range that no test running beside this one uses."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 16
    run = zlib.crc32(os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())).encode()) % 15
    first = 10000 + run * 640 + worker * 40
    return f"{first}-{first + count - 1}"


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the second if it ends between opening and reading
        return False
    return state not in "ZX"


def read_pid(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"), f"a pid in {path}")
    return int(path.read_text())
