"""Workers that finish while the server is away have finished, even if their parameter server is lost meanwhile."""

import os
import signal
from pathlib import Path

from tests.parts.leftovers import agent_processes
from tests.parts.server import MusterServer, polls


def test_a_ps_that_vanished_after_the_workers_ended_does_not_train_them_again(
    server: MusterServer, tmp_path: Path
) -> None:
    work = f"echo x >> {tmp_path}/runs; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    serve = f"echo $$ > {tmp_path}/ps.new; mv {tmp_path}/ps.new {tmp_path}/ps; exec sleep 600"
    small = {"replicas": 1, "resources": {"cpu": "50m"}}
    roles = {"ps": {"command": serve, **small}, "worker": {"command": work, **small, "replicas": 2}}
    job = server.submit({"name": "late", "framework": "paddle", "roles": roles})["id"]
    server.wait_for_state(job, "Running")
    for _ in polls(30):
        if (tmp_path / "ps").exists() and (tmp_path / "runs").exists():
            break
    ps = int((tmp_path / "ps").read_text())
    shim = parent_of(ps)
    server.kill()
    (tmp_path / "go").touch()
    for _ in polls(30):
        if not agent_processes(server.home) and children_of(shim) == [ps]:
            break
    assert children_of(shim) == [ps], "the workers have not ended"
    for pid in (shim, ps):  # as in a power failure, nobody writes down how the ps ended
        os.kill(pid, signal.SIGKILL)
    server.start()
    ended = server.wait(job)
    assert (ended["state"], ended["attempt"]) == ("Succeeded", 1)
    assert (tmp_path / "runs").read_text() == "x\nx\n"


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
