"""What the other server says of a job that was handed on to it, as observations here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from muster.backends.muster_server.answers import ToldJob, read
from muster.backends.muster_server.connection import Answer, OtherServer
from muster.backends.muster_server.metrics import OtherMetrics
from muster.backends.muster_server.observing import observations, read_jobs
from muster.domain.errors import BackendError, Unreachable
from muster.domain.experiments.job_metrics import MetricPoint, MetricSeries
from muster.domain.resources import Placement
from muster.domain.specs import HandedOn
from muster.domain.tasks import Task, TaskSucceeded
from muster.domain.used_resources import UsedGpu, UsedResources
from muster.ports.backend import Observation, Phase
from muster.ports.capabilities import AttemptPoints, TaskRef
from muster.wire.handed_on_views import handed_on_job_view
from tests.contract.building import a_job


def told(state: str, task_state: str, **more: Any) -> dict[str, Any]:
    task = {
        **{
            "role": "worker",
            "index": 0,
            "state": task_state,
            "node": "n1",
            "fault": None,
            "exitCode": 137,
            "signal": 9,
        },
        **{"startedAt": "2026-01-01T00:00:00Z", "endedAt": "2026-01-01T00:01:00Z"},
    }
    return {
        **{"id": "there", "job": "here", "attempt": 1, "attempts": 1, "roles": {"worker": 1}, "tasks": [task]},
        **{"state": state, "reason": "", "fault": None, "cancelledBy": None, "checkpointAt": None, "trackingUrl": ""},
        **more,
    }


def observed(document: dict[str, Any]) -> Observation:
    (job,) = read_jobs([ToldJob.model_validate(document)]).values()
    (found,) = observations(job, "handle", "far")
    return found


def test_a_task_that_was_stopped_goes_on_until_its_job_says_why() -> None:
    assert observed(told("Stopping", "Stopped")).phase is Phase.RUNNING
    ended = observed(told("Cancelled", "Stopped", cancelledBy="ann"))
    assert (ended.phase, ended.stopped, ended.cancelled) == (Phase.ENDED, True, "It was stopped on far by ann.")


@pytest.mark.parametrize("state", ["Running", "Stopping", "Failed"])
def test_a_task_that_failed_by_itself_has_ended_at_once(state: str) -> None:
    ended = observed(told(state, "Failed"))
    assert (ended.phase, ended.exit_code, ended.stopped, ended.cancelled) == (Phase.ENDED, 137, False, "")


def test_what_a_terminal_would_obey_is_not_passed_on() -> None:
    waits = observed(told("Queued", "Waiting", tasks=[], reason="no room\x1b]0;title\x07\x1b[2J\x9b"))
    assert waits.wait_reason == "no room?]0;title??[2J?"


USED = {
    "cpuS": 1.5,
    "peakCores": 0.5,
    "peakMemoryBytes": 1 << 20,
    "sampled": True,
    "gpus": [
        {
            **{"index": 3, "sampledS": 10.0, "meanPercent": 50.0, "peakPercent": 90.0},
            **{"meanMemoryBytes": 5, "peakMemoryBytes": 9, "energyJ": 2.5},
        }
    ],
}


def told_used(used: Any) -> Any:
    document = told("Failed", "Failed")
    document["tasks"][0]["used"] = used
    return document


def test_what_a_task_used_comes_with_its_end_and_is_told_as_it_was_told_here() -> None:
    gpu = UsedGpu(3, 10.0, 50.0, 90.0, 5, 9, 2.5)
    used = UsedResources(1.5, 0.5, 1 << 20, (gpu,), is_sampled=True)
    assert observed(told_used(USED)).used == used
    assert observed(told("Failed", "Failed")).used is None
    task = Task("here.1.worker.0", "here", 1, "net", "worker", 0, 0, Placement("n1"), TaskSucceeded(2.0), used=used)
    job = replace(a_job(1), spec=replace(a_job(1).spec, handed_on=HandedOn("s", "c", "here", 1, "ann", ("s",))))
    (view,) = handed_on_job_view(job, [task], "", 7)["tasks"]
    assert view["used"] == USED


@pytest.mark.parametrize(
    "used",
    [
        {"cpuS": -1},
        {"cpuS": 1e300},
        {"peakMemoryBytes": 1 << 80},
        {"peakMemoryBytes": 1.5},
        {"gpus": [{"index": 0}] * 65},
        {"gpus": [{"index": 0, "meanPercent": "NaN"}]},
    ],
)
def test_figures_that_make_no_sense_are_not_believed(used: Any) -> None:
    with pytest.raises(Unreachable):
        read(ToldJob, json.dumps(told_used(used)).encode())


class AnsweringServer(OtherServer):
    """Answers the metrics of one job."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self._answers = list(answers)

    async def request(self, method: str, path: str, *, params: Any = None, **more: Any) -> Answer:
        if not path.endswith("/metrics"):
            return Answer(200, b'{"state": "Succeeded"}', {})
        self.asked.append(params)
        return Answer(200, json.dumps({"metrics": self._answers.pop(0)}).encode(), {})


def curve(name: str, *values: Any, count: int | None = None, **more: Any) -> dict[str, Any]:
    points = [
        {"step": step, "at": f"2026-01-01T00:00:{step:02}.000Z", "value": value} for step, value in enumerate(values)
    ]
    return {
        "name": name,
        "count": len(points) if count is None else count,
        "last": points[-1],
        "points": points,
        **more,
    }


async def taken(server: OtherServer, known: Sequence[MetricSeries], *, is_over: bool) -> list[AttemptPoints]:
    async def find(task: TaskRef) -> str:
        return "there"

    metrics = OtherMetrics(server, find)
    answers = (metrics.whole if is_over else metrics.newer)(TaskRef("here.1.worker.0"), known)
    return [answer async for answer in answers]


@pytest.mark.anyio
async def test_only_curves_that_have_changed_are_asked_for_and_from_their_last_step_on_while_the_job_runs() -> None:
    same = MetricPoint("same", 1, 1767225601.0, 2.0)
    known = [MetricSeries("here", 1, "same", 2, same), MetricSeries("here", 1, "loss", 1, replace(same, name="loss"))]
    told_now = [curve("loss", 1.0, 2.0, "NaN"), curve("new", 5.0), curve("same", 1.0, 2.0)]
    server = AnsweringServer(told_now, [curve("loss", 1.0, 2.0, "NaN")], [curve("new", 5.0)])
    *points, summary = await taken(server, known, is_over=False)
    assert [(asked.get("name"), asked.get("from")) for asked in server.asked] == [
        (None, None),
        (["loss"], 1),
        (["new"], None),
    ]
    assert [point.name for answer in points for point in answer.points] == ["loss"] * 3 + ["new"]
    assert {point.name for point in summary.summed} == {"loss", "new", "same"}


@pytest.mark.anyio
async def test_a_thinned_curve_keeps_its_lowest_and_its_highest_value_in_the_summary() -> None:
    long = curve("loss", 1.0, 2.0, 3.0, count=10**6, lowest={"step": 1, "value": -7}, highest={"step": 2, "value": 8.5})
    *_, summary = await taken(AnsweringServer([long], [long]), [], is_over=True)
    assert [(point.step, point.value) for point in summary.summed] == [(1, -7), (2, 8.5), (2, 3.0)]


@pytest.mark.anyio
@pytest.mark.parametrize("broken", [{"last": {}}, {"lowest": {"step": "x", "value": 1}}, {"points": 7}, {"count": -1}])
async def test_metrics_that_cannot_be_read_are_not_asked_for_again(broken: dict[str, Any]) -> None:
    with pytest.raises(BackendError) as raised:
        await taken(AnsweringServer([curve("loss", 1.0) | broken]), [], is_over=True)
    assert not isinstance(raised.value, Unreachable)
