"""Which tasks ran where and when, as the schedule reads it."""

from dataclasses import replace

import pytest

from muster.domain.jobs import Job, Running, Succeeded
from muster.domain.resources import Placement
from muster.domain.tasks import Task, TaskLaunching, TaskRunning, TaskSucceeded
from muster.domain.usage.usage_report import ReportWindow
from muster.ports.store import Change, Store
from tests.contract.building import a_job, a_task

pytestmark = pytest.mark.anyio
WINDOW = ReportWindow(100.0, 200.0)


async def put(store: Store, number: int, start: float, end: float | None, cluster: str = "lab") -> Job:
    state = Running(start) if end is None else Succeeded(end)
    job = replace(
        a_job(number), cluster=cluster, created_at=start, state=state, started_at=start, ended_at=end, owner="amy"
    )
    await store.apply(Change(new_job=job))
    await store.apply(Change(job=replace(job, version=job.version + 1), tasks=[ran(job, start, end)]))
    return job


def ran(job: Job, start: float, end: float | None) -> Task:
    state = TaskRunning(start) if end is None else TaskSucceeded(end)
    task = replace(a_task(job), placement=Placement("gpu1", devices=(0, 3)), state=state)
    return replace(task, started_at=start, ended_at=end)


async def test_those_that_ran_in_the_window_come_newest_first(store: Store) -> None:
    for number, (start, end) in enumerate([(10.0, 90.0), (20.0, 120.0), (30.0, None), (150.0, 300.0), (201.0, None)]):
        await put(store, number, start, end)
    await put(store, 9, 110.0, 115.0, cluster="other")
    spans = await store.task_spans(WINDOW, ["lab"], limit=10)
    assert [(span.began_at, span.ended_at) for span in spans] == [(150.0, 300.0), (30.0, None), (20.0, 120.0)]
    assert {(span.cluster, span.node, span.devices, span.owner) for span in spans} == {("lab", "gpu1", (0, 3), "amy")}
    assert [span.state for span in spans] == ["Succeeded", "Running", "Succeeded"]


async def test_a_task_that_never_started_has_no_span(store: Store) -> None:
    job = await put(store, 1, 110.0, None)
    await store.apply(Change(tasks=[replace(a_task(job, index=1), state=TaskLaunching(120.0))]))
    (span,) = await store.task_spans(WINDOW, ["lab"], limit=10)
    assert (span.job_id, span.job, span.id) == (job.id, job.name, a_task(job).id)


async def test_of_too_many_the_newest_are_answered(store: Store) -> None:
    for number in range(8):
        await put(store, number, 100.0 + number, 150.0 + number)
    spans = await store.task_spans(WINDOW, ["lab"], limit=3)
    assert [span.began_at for span in spans] == [107.0, 106.0, 105.0]
    assert await store.task_spans(WINDOW, [], limit=3) == []
