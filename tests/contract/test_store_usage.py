"""What tasks and jobs used is kept with them, and reports read it job by job."""

from dataclasses import replace

import pytest

from muster.domain.jobs import Failed, Job, Running, Succeeded
from muster.domain.resources import Placement
from muster.domain.tasks import Task, TaskRunning, TaskSucceeded
from muster.domain.usage.usage_report import JobRun, ReportWindow
from muster.domain.used_resources import UsageSum, UsedGpu, UsedResources
from muster.ports.store import Change, Store
from tests.contract.building import FAULT, FULL_SPEC, a_job, a_task

pytestmark = pytest.mark.anyio
USED = UsedResources(12.5, 1.25, 3 << 40, (UsedGpu(0, 9.5, 31.5, 97.0, 1 << 33, 1 << 34, 1234.5), UsedGpu(3)), True)
WINDOW = ReportWindow(100.0, 200.0)


async def put(store: Store, job: Job, *tasks: Task) -> Job:
    await store.apply(Change(new_job=job))
    await store.apply(Change(job=replace(job, version=job.version + 1), tasks=tasks))
    return job


async def runs(store: Store, owner: str | None = None, window: ReportWindow = WINDOW) -> list[JobRun]:
    found: list[JobRun] = []
    await store.each_job_run(window, owner, found.append)
    return sorted(found, key=lambda run: run.created_at)


def ran(job: Job, start: float, end: float | None, used: UsedResources | None = None, index: int = 0) -> Task:
    state = TaskRunning(start) if end is None else TaskSucceeded(end)
    task = replace(a_task(job, index=index), role="worker", placement=Placement("gpu1"), state=state)
    return replace(task, started_at=start, ended_at=end, used=used)


async def test_what_was_used_comes_back_as_it_was(store: Store) -> None:
    total = UsageSum(2, 12.5, 1.25, 3 << 40, 9.5, 31.5, 97.0, 1 << 34, 1234.5, True)
    job = await put(
        store, replace(a_job(1), used=total), ran(a_job(1), 1.0, 2.0, USED), ran(a_job(1), 1.0, None, index=1)
    )
    assert (await store.job(job.id)).used == total
    assert [task.used for task in await store.tasks(job.id)] == [USED, None]


async def test_a_report_reads_jobs_that_were_open_in_the_window(store: Store) -> None:
    def job(number: int, created_at: float, end: float | None) -> Job:
        state = Running(created_at) if end is None else Succeeded(end)
        return replace(a_job(number), created_at=created_at, state=state, started_at=created_at, ended_at=end)

    for number, created_at, end in (
        (1, 10.0, 90.0),
        (2, 20.0, 120.0),
        (3, 30.0, None),
        (4, 150.0, 300.0),
        (5, 201.0, None),
    ):
        await put(store, job(number, created_at, end), ran(a_job(number), created_at, end))
    assert [run.created_at for run in await runs(store)] == [20.0, 30.0, 150.0]


async def test_a_run_has_what_was_asked_for_and_used(store: Store) -> None:
    spec = replace(FULL_SPEC, name="deep")
    job = replace(a_job(1), spec=spec, vc="ads", started_at=110.0, ended_at=150.0, state=Failed(150.0, FAULT))
    await put(store, job, ran(job, 110.0, 150.0, USED), replace(a_task(job, index=1), role="worker"))
    (run,) = await runs(store)
    (task,) = run.tasks
    assert (run.owner, run.vc, run.cluster, run.fault) == (job.owner, "ads", job.cluster, "user")
    assert (run.started_at, run.ended_at) == (110.0, 150.0)
    assert (task.node, task.cpu_m, task.gpu_m, task.used) == ("gpu1", 1000, 2000, USED)
    assert (task.started_at, task.ended_at) == (110.0, 150.0)


async def test_a_report_of_one_owner_has_no_job_of_others(store: Store) -> None:
    await put(store, replace(a_job(1), owner="amy"))
    await put(store, replace(a_job(2), owner="bo"))
    assert [run.owner for run in await runs(store, "bo", ReportWindow(0.0, 1e12))] == ["bo"]


async def test_a_report_reads_many_jobs(store: Store) -> None:
    jobs = [a_job(number) for number in range(700)]
    await store.apply_all([Change(new_job=job) for job in jobs])
    await store.apply_all([Change(tasks=[ran(job, 110.0, 120.0), ran(job, 110.0, 120.0, index=1)]) for job in jobs])
    found = await runs(store, None, ReportWindow(0.0, 1e12))
    assert (len(found), {len(run.tasks) for run in found}) == (700, {2})
