from datetime import datetime
from typing import Any

import pytest

from muster.domain.jobs import Job, Succeeded
from muster.domain.resources import Resources
from muster.domain.specs import JobSpec, Role
from muster.simulation.history import is_running, jobs_of, nodes_of
from muster.simulation.options import NodeGroup
from muster.simulation.records import TraceJob
from muster.wire.views import job_view

pytestmark = pytest.mark.fast
NOW = datetime.fromisoformat("2026-01-01T00:05:00Z").timestamp()


def a_past_job(name: str = "a", **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "owner": "amy",
        "createdAt": "2026-01-01T00:00:00Z",
        "startedAt": "2026-01-01T00:01:00Z",
        "endedAt": "2026-01-01T00:03:00Z",
        "resources": {"cpu": "1500m", "memory": "2Gi", "gpu": 4},
    } | changes


def a_node(gpus: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {"cluster": "lab", "cpu": {"total": "8"}, "memory": {"total": 4 << 30}, "gpus": gpus} | changes


def test_a_job_that_ran_becomes_a_job_of_a_trace() -> None:
    assert jobs_of([a_past_job()], NOW) == [TraceJob("a", 0, 120, 4, "amy", "", "", 1.5, 2048)]


def test_what_newer_servers_say_is_used() -> None:
    told = a_past_job(
        vc="vision", ranS=90, timeLimit="1h", resources={"cpu": "1", "memory": "0", "gpu": 0.5, "gpuType": ["V100"]}
    )

    assert jobs_of([told], NOW) == [TraceJob("a", 0, 90, 0.5, "amy", "vision", "V100", 1, 0, 3600)]


def test_a_job_of_which_no_run_time_was_counted_ran_from_start_to_end() -> None:
    assert jobs_of([a_past_job(ranS=0.0)], NOW)[0].duration_s == 120


def test_all_that_a_server_tells_of_a_job_reaches_the_trace() -> None:
    worker = Role("worker", 2, ("x",), Resources(1500, 1 << 30, 2, ("V100", "A100")))
    spec = JobSpec("a", (Role("ps", 1, ("x",)), worker), time_limit_s=5400.0)
    job = Job(
        "1", "amy", "lab", spec, Succeeded(400.0), 100.0, started_at=200.0, ended_at=400.0, vc="vision", ran_s=90.5
    )

    assert jobs_of([job_view(job)], NOW) == [TraceJob("1", 0, 90.5, 4, "amy", "vision", "V100", 3, 2048, 5400)]


def test_submissions_count_from_the_first() -> None:
    jobs = jobs_of([a_past_job("b", createdAt="2026-01-01T00:00:30Z"), a_past_job("a")], NOW)

    assert [(job.job_id, job.submit_s) for job in jobs] == [("a", 0), ("b", 30)]


def test_a_job_that_never_ran_is_left_out() -> None:
    assert jobs_of([a_past_job(startedAt=None), a_past_job(startedAt=None, endedAt=None)], NOW) == []


def test_a_job_that_still_runs_is_replayed_as_if_it_ended_now() -> None:
    running = a_past_job(endedAt=None, runningSince="2026-01-01T00:02:00Z", ranS=30.0)

    assert is_running(running)
    assert jobs_of([running], NOW)[0].duration_s == 30 + 180


def test_a_job_that_lost_its_work_and_waits_again_is_left_out() -> None:
    assert jobs_of([a_past_job(endedAt=None, runningSince=None, ranS=0.0)], NOW) == []


def test_nodes_that_are_alike_make_a_group() -> None:
    v100 = [{"model": "V100"}, {"model": "V100"}]

    assert nodes_of([a_node(v100), a_node([]), a_node(v100)]) == [
        NodeGroup(2, 2, "V100", "lab", 8, 4096),
        NodeGroup(1, 0, "", "lab", 8, 4096),
    ]
