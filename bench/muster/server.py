"""One Muster server with a folder of its own, started as a user would start it."""

import json
import os
import re
import selectors
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from bench.measuring import ProcessSample, cpu_seconds, process_tree
from bench.peers import children
from bench.peers.venvs import ROOT

PROGRAM = ROOT / ".venv" / "bin" / "muster"
ADDRESS = re.compile(r"http://([\d.]+):(\d+)")
SHIM = "muster-shim"
UP_DEADLINE_S = 30.0


@dataclass(frozen=True)
class Cpu:
    """CPU seconds so far. Commands count when they have ended."""

    server_s: float = 0.0
    agent_s: float = 0.0
    commands_s: float = 0.0

    @property
    def total_s(self) -> float:
        return self.server_s + self.agent_s + self.commands_s

    def __add__(self, other: "Cpu") -> "Cpu":
        return Cpu(self.server_s + other.server_s, self.agent_s + other.agent_s, self.commands_s + other.commands_s)

    def __sub__(self, other: "Cpu") -> "Cpu":
        return self + Cpu(-other.server_s, -other.agent_s, -other.commands_s)


class MusterAbsent(Exception):
    """There is no server to measure; the message says why."""


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    token: str


class MusterServer:
    """`with MusterServer() as server:`. Leaving stops the server, its agent and what its tasks left behind."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="muster-bench-"))
        self._process: subprocess.Popen[str] | None = None
        self._address: Address | None = None

    def __enter__(self) -> "MusterServer":
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        if not PROGRAM.exists():
            raise MusterAbsent(f"{PROGRAM.relative_to(ROOT)} does not exist; run `make setup`")
        log = self.home.with_suffix(".log")
        self._process, _, output = children.start_piped(
            [str(PROGRAM), "up", "--port", "0"], log, self.environment(), self.home
        )
        line = first_line(output, UP_DEADLINE_S)
        found = ADDRESS.search(line)
        if found is None:
            self.stop()
            said = log.read_text(errors="replace").strip()[-300:]
            raise MusterAbsent(f"`muster up` printed no address but {line.strip()!r}; {said}")
        self._address = Address(found[1], int(found[2]), self._token())

    def stop(self) -> None:
        if self._process is None:
            return
        tree = process_tree(self._process.pid)
        children.stop(self._process)
        children.end_all(tree)
        self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.with_suffix(".log").unlink(missing_ok=True)

    @property
    def address(self) -> Address:
        if self._address is None:
            raise MusterAbsent("the server was not started")
        return self._address

    def environment(self) -> dict[str, str]:
        outside = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
        return {**outside, "MUSTER_HOME": str(self.home)}

    def processes(self) -> tuple[list[ProcessSample], list[ProcessSample]]:
        """The server, and the agent with its shim, without the commands that they run."""
        if self._process is None:
            raise MusterAbsent("the server is not running")
        root = self._process.pid
        tree = process_tree(root)
        agents = [sample for sample in tree if sample.pid != root and "agent" in sample.command]
        first = [sample for sample in agents if sample.parent == root]
        ours = {sample.pid for sample in first}
        shims = [sample for sample in tree if sample.parent in ours and SHIM in sample.command]
        return [sample for sample in tree if sample.pid == root], [*first, *shims]

    def cpu(self) -> Cpu:
        server, agent = self.processes()
        own_s, all_s = sum(sample.own_cpu_s for sample in agent), cpu_seconds(agent)
        return Cpu(cpu_seconds(server), own_s, all_s - own_s)

    def _token(self) -> str:
        contexts = json.loads((self.home / "context.json").read_text())
        return str(contexts["contexts"][contexts["current"]]["token"])


def first_line(output: IO[str], deadline_s: float) -> str:
    """A server that hangs must not hang the bench."""
    give_up = time.monotonic() + deadline_s
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while time.monotonic() < give_up:
            if selector.select(timeout=0.5):
                return output.readline()
    return ""
