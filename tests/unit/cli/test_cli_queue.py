"""`muster queue` and `muster ps`, and what the tables of jobs say about time and use."""

from typing import Any

import pytest

from muster.cli.commands.top import fitted
from tests.unit.cli.calling import muster, with_job
from tests.unit.client.tiny_server import Answer, TinyServer, a_job

pytestmark = pytest.mark.fast
STARTED, ENDED = "2026-01-02T03:04:06.000Z", "2026-01-02T05:07:06.000Z"
RAN_S = 7380.0


def with_queue(server: TinyServer, *jobs: dict[str, Any], total: int | None = None) -> None:
    server.on("GET", "/queue", Answer(200, {"items": list(jobs), "total": len(jobs) if total is None else total}))


def test_ps_lists_jobs_like_get_jobs(server: TinyServer) -> None:
    with_job(server)
    assert muster(server, "ps", "-o", "name").out == muster(server, "get", "jobs", "-o", "name").out == "mnist\n"


def test_a_job_has_gpus_and_a_duration(server: TinyServer) -> None:
    resources = {"cpu": "1", "memory": "2Gi", "gpu": 0.5}
    with_job(server, state="Succeeded", startedAt=STARTED, endedAt=ENDED, runTimeS=RAN_S, resources=resources)
    titles, line = muster(server, "get", "jobs").out.splitlines()
    assert {"OWNER", "GPUS", "DURATION"} <= set(titles.split())
    assert " 0.5 " in line
    assert "2h 3m" in line


def test_wide_jobs_have_waits_and_use(server: TinyServer) -> None:
    with_job(server, startedAt=STARTED, endedAt=ENDED, runTimeS=RAN_S, gpuPercent=30.7, peakMemoryBytes=3 << 29)
    titles, line = muster(server, "get", "jobs", "-o", "wide").out.splitlines()
    for title, value in (("GPU", "31 %"), ("PEAK MEMORY", "1.5 GiB"), ("WAIT", "0.3s"), ("DURATION", "2h 3m")):
        assert title in titles
        assert value in line


def test_jobs_of_an_older_server_have_no_use(server: TinyServer) -> None:
    with_job(server)
    assert muster(server, "get", "jobs", "-o", "wide").code == 0


def test_the_queue_has_positions_and_reasons(server: TinyServer) -> None:
    waiting = a_job(name="resnet", state="Queued", startedAt=None, reason="waits for 2 GPUs", position=1)
    with_queue(server, a_job(position=None), waiting)
    titles, runs, waits = muster(server, "queue", "--mine", "--cluster", "lab").out.splitlines()
    assert titles.split() == ["POS", "NAME", "OWNER", "CLUSTER", "STATE", "PRIORITY", "GPUS", "WAIT", "RUN", "REASON"]
    assert runs.split()[:3] == ["-", "mnist", "li"]
    assert waits.split()[:2] == ["1", "resnet"]
    assert waits.endswith("waits for 2 GPUs")
    (asked,) = server.requests("GET", "/queue")
    assert (asked.query["owner"], asked.query["cluster"]) == (["me"], ["lab"])


def test_an_empty_and_a_cut_queue_say_so(server: TinyServer) -> None:
    with_queue(server)
    assert "no job runs or waits" in muster(server, "queue").err
    with_queue(server, a_job(position=None), total=7)
    assert "Showing 1 of 7" in muster(server, "queue", "--limit", "1").err


@pytest.mark.parametrize(
    ("height", "lines"), [(3, ["a", "b", "c"]), (2, ["a", "… 2 more lines"]), (1, ["… 3 more lines"])]
)
def test_top_fits_the_window(height: int, lines: list[str]) -> None:
    assert [line.partition(";")[0] for line in fitted("a\nb\nc", height).split("\n")] == lines
