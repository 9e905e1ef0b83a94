"""Curves of runs over one axis of time, and what really happened as a run."""

import pytest

from muster.simulation.curves import curves, time_axis, wait_quantiles
from muster.simulation.metrics import summarise
from muster.simulation.options import Policy
from muster.simulation.process import simulated
from muster.simulation.recorded import TITLE, Recorded, recorded_run
from muster.simulation.records import TraceJob
from muster.wire.requests import SimulatedVariantIn

pytestmark = pytest.mark.fast
ONE = TraceJob("a", 0.0, 10.0, 2.0)
TWO = TraceJob("b", 0.0, 10.0, 2.0)


def test_what_really_happened_has_its_queue_and_its_busy_gpus() -> None:
    run = recorded_run([Recorded(ONE, 0.0, 10.0), Recorded(TWO, 10.0, 20.0)], 2)
    axis = time_axis([run], 4)
    assert axis == [0.0, 5.0, 10.0, 15.0]
    assert curves(run, axis) == {
        "waitingJobs": [1.0, 1.0, 0.0, 0.0],
        "busyGpus": [2.0, 2.0, 2.0, 2.0],
        "waitingGpus": [2.0, 2.0, 0.0, 0.0],
    }
    waits = wait_quantiles(run)
    assert (waits["seconds"][0], waits["seconds"][-1], waits["shares"][-1]) == (0.0, 10.0, 1.0)


def test_a_part_of_the_axis_has_the_mean_of_what_was_in_it() -> None:
    run = recorded_run([Recorded(ONE, 0.0, 10.0), Recorded(TraceJob("c", 12.5, 7.5, 4.0), 12.5, 20.0)], 4)
    assert curves(run, time_axis([run], 2))["busyGpus"] == [2.0, 3.0]


def test_a_job_that_was_preempted_waits_again_and_holds_no_gpus_meanwhile() -> None:
    preempted = Recorded(TraceJob("p", 0.0, 5.0, 2.0), 0.0, 20.0, preemptions=2)
    run = recorded_run([preempted, Recorded(TraceJob("q", 0.0, 15.0, 2.0), 0.0, 15.0)], 2)
    assert curves(run, time_axis([run], 4)) == {
        "waitingJobs": [1.0, 1.0, 1.0, 0.0],
        "busyGpus": [2.0, 2.0, 2.0, 2.0],
        "waitingGpus": [2.0, 2.0, 2.0, 0.0],
    }
    assert summarise(run)["preemptions"] == 2


def a_past_job(name: str, created_at: float, started_at: float, ended_at: float) -> dict[str, object]:
    facts: dict[str, object] = {"id": name, "owner": "amy", "vc": "", "gpuModel": "A100", "timeLimitS": None}
    amounts = {"gpuM": 1000, "cpuM": 1000, "memoryBytes": 1 << 30, "ranS": ended_at - started_at, "preemptions": 0}
    return {**facts, **amounts, "createdAt": created_at, "startedAt": started_at, "endedAt": ended_at}


def test_more_gpus_shorten_the_queue_and_curves_are_side_by_side() -> None:
    jobs = [a_past_job(f"j{number}", 1000.0, 1000.0 + 60 * number, 1060.0 + 60 * number) for number in range(8)]

    def nodes(count: int) -> list[dict[str, object]]:
        return [{"count": count, "gpus": 1, "model": "A100", "cpuM": 8000, "memoryBytes": 8 << 30}]

    told: list[float] = []
    plan = {
        "jobs": jobs,
        "variants": [
            {"title": "now", "policy": "fifo", "nodes": nodes(1)},
            {"title": "more", "policy": "fifo", "nodes": nodes(4)},
        ],
        "durations": "unknown",
        "preemptionCost": "none",
        "points": 20,
        "ownGpus": 1,
    }
    result = simulated(plan, told.append)
    assert [run["title"] for run in result["runs"]] == [TITLE, "now", "more"]
    was, now, more = (run["summary"]["mean_queue"] for run in result["runs"])
    assert was == now == 210.0
    assert more == 30.0
    assert result["at"][0] == 1000.0
    assert all(len(curve) == 20 for run in result["runs"] for curve in run["curves"].values())
    assert all("users" not in run["summary"] for run in result["runs"]), "nobody's name is in it"


def test_the_api_knows_all_policies() -> None:
    schema = SimulatedVariantIn.model_json_schema()["properties"]["policy"]
    assert set(schema["enum"]) == set(Policy)
