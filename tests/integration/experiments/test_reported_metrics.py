"""Metrics that programs report by `muster.log`, on this machine: seen while the job runs, and all there at its end,
also if the server was killed in between."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.server import MusterServer, polls, running_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MusterServer]:
    with running_server(tmp_path / "home") as running:
        yield running


def program(lines: str) -> dict[str, Any]:
    return {"name": "net", "command": ["python3", "-c", lines]}


def metrics(server: MusterServer, job: str, **query: Any) -> dict[str, Any]:
    words = "&".join(f"{name}={value}" for name, value in query.items())
    status, found = server.call("GET", f"/api/v1/jobs/{job}/metrics?{words}")
    assert status == 200, found
    return {one["name"]: one for one in found["metrics"]}


def wait_for_step(server: MusterServer, job: str, step: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in polls(30):
        found = metrics(server, job)
        if "loss" in found and found["loss"]["last"]["step"] >= step:
            return found
    raise AssertionError(f"step {step} has not come: {found}")


def test_what_a_job_reports_is_there_when_it_has_ended(server: MusterServer) -> None:
    job = server.submit(program("import muster\nfor n in range(300): muster.log(step=n, loss=1 / (n + 1), acc=n)"))
    assert server.wait(job["id"])["state"] == "Succeeded"
    found = metrics(server, job["id"], points=1000)
    assert [one["step"] for one in found["loss"]["points"]] == list(range(300))
    assert found["acc"]["highest"] == {"step": 299, "value": 299.0}


def test_metrics_of_a_running_job_come_while_it_runs_and_once_over_a_kill_of_the_server(
    server: MusterServer, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    lines = (
        "import muster, os, time\n"
        "for n in range(5): muster.log(step=n, loss=n)\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.05)\n"
        "for n in range(5, 9): muster.log(step=n, loss=n)"
    )
    job = server.submit(program(lines))
    assert wait_for_step(server, job["id"], 4)["loss"]["count"] == 5
    server.kill()
    go.touch()
    server.start()
    server.wait(job["id"])
    assert [one["value"] for one in metrics(server, job["id"])["loss"]["points"]] == list(range(9))


def test_each_attempt_has_its_own_metrics_and_any_language_can_report_them(server: MusterServer) -> None:
    line = '{"step": 1, "metrics": {"loss": \'$MUSTER_ATTEMPT\'}}'
    job = server.submit(
        {"name": "net", "command": f"echo '{line}' >> $MUSTER_TASK_DIR/metrics; exit 3", "retry": {"max": 1}}
    )
    assert server.wait(job["id"])["state"] == "Failed"
    assert metrics(server, job["id"], attempt=1)["loss"]["last"]["value"] == 1
    assert metrics(server, job["id"])["loss"]["last"]["value"] == 2


def test_patterns_find_metrics_in_the_log_while_the_job_runs_and_to_its_end(
    server: MusterServer, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    command = (
        "for n in 1 2 3; do echo epoch $n loss=0.$n acc: $n%; done; "
        f"while [ ! -e {go} ]; do sleep 0.05; done; printf 'epoch 4 loss=nan\\repoch 5 loss=0.5'"
    )
    patterns = [r"epoch (?P<step>\d+) loss=(?P<loss>\S+)", r"(?P<name>acc): (?P<value>\S+)"]
    job = server.submit({"name": "net", "command": command, "metrics": patterns, "replicas": 2})
    assert wait_for_step(server, job["id"], 3)["loss"]["count"] == 3
    go.touch()
    assert server.wait(job["id"])["state"] == "Succeeded"
    found = metrics(server, job["id"])
    assert [one["value"] for one in found["loss"]["points"]] == [0.1, 0.2, 0.3, "NaN", 0.5]
    assert [(one["step"], one["value"]) for one in found["acc"]["points"]] == [(0, 0.01), (1, 0.02), (2, 0.03)]


def test_a_pattern_that_is_none_is_refused_with_its_place(server: MusterServer) -> None:
    status, refused = server.call("POST", "/api/v1/jobs", {"spec": {"name": "x", "command": "true", "metrics": "loss"}})
    assert status == 422
    assert [one["path"] for one in refused["problems"]] == ["metrics"]
    assert "no group that names a metric" in refused["problems"][0]["hint"]


def test_event_files_among_the_outputs_are_read_when_the_job_has_ended(server: MusterServer) -> None:
    lines = (
        "from tensorboardX import SummaryWriter\n"
        "for run in ('train', 'val'):\n"
        "    with SummaryWriter('runs/' + run) as writer:\n"
        "        for step in range(100): writer.add_scalar('loss', 1 / (step + 1), step)\n"
    )
    job = server.submit({"name": "net", "command": [sys.executable, "-c", lines], "outputs": ["runs/"]})
    assert server.wait(job["id"])["state"] == "Succeeded"
    for _ in polls(30):
        found = metrics(server, job["id"], points=200)
        if found.get("val/loss", {}).get("count") == 100:
            break
    assert sorted(found) == ["train/loss", "val/loss"]
    assert [point["step"] for point in found["train/loss"]["points"]] == list(range(100))
