"""Gangs over real hosts that exchange a word a step until they are told to end: what a fault falls into the middle of.

Every task writes its id into a folder that all hosts share before it does anything else, so that a second run of the
same task would show, wherever it was.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.parts.host import Host
from tests.parts.hosts import HostPool
from tests.parts.server import MusterServer, polls
from tests.parts.ssh_cluster import CLUSTER, log_of

SHARED = Path("/srv/control")
"""The same folder on all hosts; cut off or not, they see it."""

_COMMON = f"""
import os, socket, threading, time
def has_to_end():
    return os.path.exists("{SHARED}/go")
with open("{SHARED}/records/" + os.environ["MUSTER_TASK_UID"], "a") as file:
    print(os.getpid(), file=file)
def connected(endpoint):
    host, port = endpoint.rsplit(":", 1)
    while True:
        try:
            return socket.create_connection((host, int(port))).makefile("rw")
        except ConnectionRefusedError:
            time.sleep(0.05)
def exchange(line, word):
    print(word, file=line, flush=True)
    return line.readline()
"""
_SERVER = f"""{_COMMON}
listening = socket.create_server(("", int(os.environ["PADDLE_PORT"])))
def serve(line):
    for word in line:
        line.write(word)
        line.flush()
lines = [listening.accept()[0].makefile("rw") for _ in range(int(os.environ["PADDLE_TRAINERS_NUM"]))]
serving = [threading.Thread(target=serve, args=(line,)) for line in lines]
for thread in serving:
    thread.start()
for thread in serving:
    thread.join()
print("end")
"""
_WORKER = f"""{_COMMON}
lines = [connected(endpoint) for endpoint in os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")]
step = 0
while not has_to_end():
    for line in lines:
        assert exchange(line, step) == "%d\\n" % step
    print("step", step, flush=True)
    step += 1
    time.sleep(0.02)
print("end")
"""
_PEER = f"""{_COMMON}
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
port = int(os.environ["MASTER_PORT"])
if rank == 0:
    listening = socket.create_server(("", port))
    lines = [listening.accept()[0].makefile("rw") for _ in range(world - 1)]
else:
    line = connected("%s:%d" % (os.environ["MASTER_ADDR"], port))
step, total = 0, ""
while total != "end":
    if rank == 0:
        total = sum(int(line.readline()) for line in lines)
        total = "end" if has_to_end() else str(total)
        for line in lines:
            print(total, file=line, flush=True)
    else:
        total = exchange(line, rank).strip()
    assert total in ("end", str(world * (world - 1) // 2)), total
    print("step", step, flush=True)
    step += 1
    time.sleep(0.02)
print("end")
"""
_NEEDS = {"cpu": 0.1}


def _program(text: str) -> list[str]:
    return ["python3", "-u", "-c", text]


def _ps_job() -> dict[str, Any]:
    return {
        "framework": "paddle",
        "roles": {
            "ps": {"replicas": 2, "resources": _NEEDS, "command": _program(_SERVER)},
            "worker": {"replicas": 2, "resources": _NEEDS, "command": _program(_WORKER)},
        },
    }


def _collective_job() -> dict[str, Any]:
    return {"framework": "torch", "replicas": 4, "resources": _NEEDS, "command": _program(_PEER)}


KINDS = {"ps": _ps_job, "collective": _collective_job}


class Gang:
    """One job of four tasks on four hosts. `control` is the shared folder as this machine sees it."""

    def __init__(self, server: MusterServer, pool: HostPool, control: Path, kind: str) -> None:
        self._server = server
        self._hosts = {host.name: host for host in pool.hosts}
        self._control = control
        spec = {"name": f"{kind}-job", "cluster": CLUSTER, "where": {"spread": "apart"}, "grace": "2s"}
        self.id: str = server.submit(spec | KINDS[kind]())["id"]

    def wait_until_working(self, attempt: int = 1) -> None:
        """All tasks run and speak with each other."""
        text = ""
        for _ in polls(60):
            text = log_of(self._server, self.id, f"worker-1&attempt={attempt}")
            if "step 3\n" in text:
                return
        raise AssertionError(f"{self.job()} does not work: {text}")

    def job(self) -> dict[str, Any]:
        return dict(self._server.call("GET", f"/api/v1/jobs/{self.id}")[1])

    def tasks(self, attempt: int | str = 1) -> list[dict[str, Any]]:
        return list(self._server.call("GET", f"/api/v1/jobs/{self.id}/tasks?attempt={attempt}")[1]["items"])

    def task(self, name: str, attempt: int = 1) -> dict[str, Any]:
        return next(task for task in self.tasks(attempt) if f"{task['role']}-{task['index']}" == name)

    def host_of(self, name: str, attempt: int = 1) -> Host:
        return self._hosts[self.task(name, attempt)["node"]]

    def states(self, attempt: int = 1) -> dict[str, str]:
        return {f"{task['role']}-{task['index']}": task["state"] for task in self.tasks(attempt)}

    def wait_for_attempt(self, number: int, timeout_s: float = 60.0) -> None:
        for _ in polls(timeout_s):
            if self.job()["attempt"] >= number:
                return
        raise AssertionError(f"no attempt {number}: {self.job()}")

    def end_well(self, attempt: int) -> None:
        """Let it end; it has succeeded in this attempt, on no account of its user's, and each task ran once."""
        (self._control / "go").touch()
        ended = self._server.wait(self.id)
        assert ended["state"] == "Succeeded", (ended, [(task["id"], task["reason"]) for task in self.tasks("all")])
        assert (ended["attempt"], ended["retries"]) == (attempt, 0), ended["reason"]
        self.check_nothing_ran_twice()
        self.check_logs(attempt)
        self.wait_until_nothing_runs()

    def check_nothing_ran_twice(self) -> None:
        ran = Counter({file.name: len(file.read_text().split()) for file in (self._control / "records").iterdir()})
        assert {task["id"] for task in self.tasks("all") if task["state"] == "Succeeded"} <= set(ran)
        assert set(ran.values()) <= {1}, ran

    def check_logs(self, attempt: int) -> None:
        """Those of tasks that ended by themselves have every line, once, in order."""
        for task in self.tasks(attempt):
            name = f"{task['role']}-{task['index']}"
            lines = log_of(self._server, self.id, f"{name}&attempt={attempt}").splitlines()
            if task["state"] == "Succeeded":
                assert lines[-1:] == ["end"], (name, lines[-3:])
            check_steps(name, lines[:-1] if lines[-1:] == ["end"] else lines)

    def wait_until_nothing_runs(self, hosts: Iterable[Host] | None = None) -> None:
        looked_at = list(self._hosts.values() if hosts is None else hosts)
        left: dict[str, list[str]] = {}
        for _ in polls(60, every_s=0.2):
            left = {host.name: found for host in looked_at if (found := running(host, self.id))}
            if not left:
                return
        raise AssertionError(f"tasks still run: {left}")


def running(host: Host, task: str) -> list[str]:
    """Processes of a task, or of all tasks of a job, whatever has become of their parent and session."""
    if not host.is_on:
        return []
    mark = f"MUSTER_TASK_UID={task}"
    found = host.run(["sh", "-c", 'grep -las "$1" /proc/[0-9]*/environ || :', "sh", mark])
    return found.split()


def check_steps(name: str, lines: list[str]) -> None:
    assert lines == [f"step {number}" for number in range(len(lines))], f"{name}: lines are missing or twice: {lines}"
