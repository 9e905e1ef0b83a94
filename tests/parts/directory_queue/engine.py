"""The toy engine's process: `python -m tests.parts.directory_queue.engine ROOT`. It runs until it is killed.

It takes gangs from the queue in order, starts a gang only when all of it fits, chooses nodes and ports, resolves the
symbols in what it was given, and writes down what becomes of every task.
"""

import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from muster.domain.launch_requests import LaunchRequest
from muster.launch.symbols import resolve_request
from tests.parts.directory_queue.layout import Layout, has_started, listed, read, write

LOOK_EVERY_S = 0.02


@dataclass(slots=True)
class Running:
    process: subprocess.Popen[bytes]
    killed_at: float | None = None


@dataclass(slots=True)
class Engine:
    layout: Layout
    running: dict[str, Running] = field(default_factory=dict)

    def work_for_ever(self) -> None:
        while True:
            self._cancel()
            self._notice_ends()
            self._start_what_fits()
            time.sleep(LOOK_EVERY_S)

    def _start_what_fits(self) -> None:
        for path in listed(self.layout.queue):
            gang = read(path)
            if not gang:
                continue  # it was cancelled in the meantime
            if has_started(read(self.layout.gangs / path.name)):
                path.unlink()  # it was submitted again while it was being started
                continue
            places = self._places(gang["tasks"])
            if places is None:
                reason = {"reason": "(Resources)", "starts_at": time.time() + 60.0}
                write(self.layout.gangs / path.name, {**self._waiting(gang), **reason})
                return  # strictly in order
            self._start(path, gang, places)

    def _waiting(self, gang: dict[str, Any]) -> dict[str, Any]:
        return {"tasks": {task["id"]: {"phase": "waiting"} for task in gang["tasks"]}}

    def _places(self, tasks: list[dict[str, Any]]) -> dict[str, str] | None:
        free = {name: cpus * 1000 - self._used(name) for name, cpus in read(self.layout.nodes).items()}
        places: dict[str, str] = {}
        for task in tasks:
            node = next((name for name, cpu_m in free.items() if cpu_m >= task["cpu_m"]), None)
            if node is None:
                return None
            free[node] -= task["cpu_m"]
            places[task["id"]] = node
        return places

    def _used(self, node: str) -> int:
        others = int(read(self.layout.others).get(node, 0)) * 1000
        ours = [
            int(task["cpu_m"])
            for path in listed(self.layout.gangs)
            for task in read(path).get("tasks", {}).values()
            if task.get("node") == node and task["phase"] == "running"
        ]
        return others + sum(ours)

    def _start(self, path: Path, gang: dict[str, Any], places: dict[str, str]) -> None:
        ports = {task["rank"]: [_free_port() for _ in task["ports"]] for task in gang["tasks"]}
        hosts = {task["rank"]: "127.0.0.1" for task in gang["tasks"]}
        record: dict[str, Any] = {"tasks": {}}
        for task in gang["tasks"]:
            asked = LaunchRequest(task["id"], "", tuple(task["argv"]), task["env"], task["files"], tuple(task["ports"]))
            request = resolve_request(asked, hosts, ports, literal=task["literal"])
            self.running[task["id"]] = Running(self._process(request, task.get("package")))
            facts = {"phase": "running", "node": places[task["id"]], "cpu_m": task["cpu_m"], "started_at": time.time()}
            record["tasks"][task["id"]] = facts
        write(self.layout.gangs / path.name, record)
        path.unlink()

    def _process(self, request: LaunchRequest, package: str | None) -> subprocess.Popen[bytes]:
        folder = self.layout.work / request.task_id
        folder.mkdir(parents=True, exist_ok=True)
        if package is not None:
            with urlopen(package, timeout=30) as answer, tarfile.open(fileobj=BytesIO(answer.read())) as archive:
                archive.extractall(folder, filter="data")
        for name, content in request.files.items():
            (folder / name).write_text(content)
        env = {"PATH": os.environ["PATH"], **request.env, "MUSTER_TASK_DIR": str(folder)}
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(
                request.argv,
                cwd=folder,
                env=env,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _cancel(self) -> None:
        for path in listed(self.layout.cancels):
            order = read(path)
            record = self.layout.gangs / f"{order['key']}.json"
            queued = self.layout.queue / f"{order['key']}.json"
            if queued.exists():
                gang = read(queued)
                stopped = {"phase": "ended", "stopped": True, "ended_at": time.time()}
                write(record, {"tasks": {task["id"]: stopped for task in gang["tasks"]}})
                queued.unlink()
            elif order["task"] in self.running:
                self._kill(self.running[order["task"]], order["grace_s"])
                continue  # until it has ended
            path.unlink()

    def _kill(self, running: Running, grace_s: float) -> None:
        if running.killed_at is None:
            running.killed_at = time.time()
            _signal(running.process, signal.SIGTERM)
        elif time.time() > running.killed_at + grace_s:
            _signal(running.process, signal.SIGKILL)

    def _notice_ends(self) -> None:
        for task_id, running in list(self.running.items()):
            code = running.process.poll()
            if code is None:
                continue
            del self.running[task_id]
            path = self.layout.record(task_id)
            record = read(path)
            if task_id not in record.get("tasks", {}):
                continue  # it was deleted
            record["tasks"][task_id] |= {
                "phase": "ended",
                "ended_at": time.time(),
                "exit_code": code if code >= 0 else 128 - code,
                "signal": -code if code < 0 else None,
                "stopped": running.killed_at is not None,
            }
            write(path, record)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    Engine(Layout(Path(sys.argv[1])).make()).work_for_ever()
