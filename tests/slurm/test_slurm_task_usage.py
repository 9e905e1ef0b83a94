"""What tasks on a real Slurm cluster use is known while they run, and afterwards."""

from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls
from tests.parts.slurm import RealSlurm
from tests.parts.slurm_server import CLUSTER

pytestmark = pytest.mark.slurm
_MEGABYTES = 60
_COMMAND = f"""python3 -c '
import os, time
held = bytearray({_MEGABYTES} << 20)
while not os.path.exists("GO"):
    sum(range(100000))
    time.sleep(0.01)
'"""


@pytest.mark.parametrize("fixture", ["slurm_server", "unshared_server"])
def test_usage_of_a_task_is_known_while_it_runs_and_when_it_has_ended(
    slurm: RealSlurm, tmp_path: Path, request: pytest.FixtureRequest, fixture: str
) -> None:
    server: MusterServer = request.getfixturevalue(fixture)
    go = tmp_path / "go"
    job = server.submit({"name": "busy", "cluster": CLUSTER, "command": _COMMAND.replace("GO", str(go))})["id"]
    server.wait_for_state(job, "Running")

    node = _await_usage(server, job)
    shown = server.run("top", check=True).stdout
    asked = slurm.run("sdiag")
    go.touch()

    assert server.wait(job)["state"] == "Succeeded", server.run("logs", job).stdout
    assert node in shown
    assert "REQUEST_JOB_STEP_STAT" not in asked
    _, used = server.call("GET", f"/api/v1/jobs/{job}/usage")
    assert used["used"]["peakMemoryBytes"] >= _MEGABYTES << 20, used
    assert used["used"]["cpuS"] > 0, used


def _await_usage(server: MusterServer, job: str) -> str:
    """The node whose samples have the task of the job in them."""
    used: Any = None
    for _ in polls(60):
        _, used = server.call("GET", f"/api/v1/jobs/{job}/usage")
        if (used["used"]["peakMemoryBytes"] or 0) >= _MEGABYTES << 20:
            nodes = server.json("get", "nodes")["items"]
            return str(next(one["name"] for one in nodes if one["cluster"] == CLUSTER and one["tasks"]))
    raise AssertionError(f"nothing is known of its usage: {used}")
