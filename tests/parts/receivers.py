"""A deployment of real receivers, driven by the command as people would do."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.parts.leftovers import agent_processes, task_processes, wait_until_agents_left
from tests.parts.ports import free_port
from tests.parts.server import MusterServer, polls

_MUSTER = Path(sys.executable).with_name("muster")


class Receivers:
    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.deploy_dir = folder / "deployment"
        self.names = [f"127.0.0.1:{port}" for port in sorted(free_port() for _ in range(count))]
        self.file = folder / "receivers.yaml"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        self._env = kept | {"MUSTER_HOME": str(folder / "account"), "NO_COLOR": "1"}

    def write(self, text: str = "", names: Sequence[str] | None = None) -> None:
        lines = "".join(f"- {name}\n" for name in names or self.names)
        self.file.write_text(f"receivers:\n{lines}deploy_dir: {self.deploy_dir}\n{text}")

    def run(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [str(_MUSTER), "receivers", *words],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            cwd=self.folder,
        )
        if check and done.returncode:
            raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done

    def popen(self, *words: str) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        return subprocess.Popen([str(_MUSTER), "receivers", *words], env=self._env, stdout=pipe, stderr=pipe, text=True)

    def deploy(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        return self.run("deploy", str(self.file), *words, check=check)

    def list(self) -> list[Any]:
        items: list[Any] = json.loads(self.run("list", "-o", "json").stdout)["items"]
        return items

    def pids(self) -> dict[str, int]:
        return {one["name"]: one["pid"] for one in self.list()}

    def server(self, name: str) -> MusterServer:
        """To call it. It is not the child of the test."""
        return MusterServer(self.deploy_dir / "store", port=int(name.rpartition(":")[2]))

    def supervisor(self) -> int:
        for _ in polls(30):
            if (pid := self.list()[0]["supervisorPid"]) is not None:
                return int(pid)
        raise AssertionError("there is no supervisor")

    def wait_until_running(self, *names: str) -> None:
        found: list[Any] = []
        for _ in polls(120, every_s=0.2):
            found = self.list()
            states = {one["name"]: one["state"] for one in found}
            if all(states[name] == "Running" for name in names or self.names):
                return
        raise AssertionError(f"not all run: {found}")

    def config(self, name: str) -> str:
        return f"{self.deploy_dir}/{name.replace(':', '_')}/config.yaml"

    def processes(self, named: str = "") -> dict[int, str]:
        """Everything that runs for the deployment, with its arguments, if `named` is among them."""
        return {pid: words for pid, words in _arguments() if str(self.deploy_dir) in words and named in words}


@contextmanager
def receivers(folder: Path, count: int) -> Iterator[Receivers]:
    """Not deployed yet. At the end all are stopped, and nothing may be left."""
    found = Receivers(folder, count)
    try:
        yield found
    finally:
        if found.deploy_dir.exists():
            found.run("stop", "--all", check=False)
            store = found.deploy_dir / "store"
            try:
                wait_until_agents_left(store)
                for _ in polls(30):
                    if not found.processes():
                        break
                left = found.processes()
            finally:
                for pid in [*found.processes(), *agent_processes(store), *task_processes(store)]:
                    os.kill(pid, signal.SIGKILL)
            assert not left, f"processes are left: {left}"


def _arguments() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            except OSError:
                continue
