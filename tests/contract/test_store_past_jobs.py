"""Jobs that have run and ended, as simulations read them."""

from dataclasses import replace

import pytest

from muster.domain.jobs import Cancelled, Job, Running, Succeeded
from muster.domain.resources import Resources
from muster.domain.specs import Role
from muster.domain.usage.usage_report import ReportWindow
from muster.ports.store import Change, Store
from tests.contract.building import a_job

pytestmark = pytest.mark.anyio
WINDOW = ReportWindow(100.0, 200.0)


def a_past_job(number: int, created_at: float, *, owner: str = "amy", cluster: str = "lab") -> Job:
    job = a_job(number)
    roles = (
        Role("ps", 2, ("true",), Resources(1000, 1 << 30)),
        Role("worker", 4, ("true",), Resources(2000, 2 << 30, 2, ("A100",))),
    )
    spec = replace(job.spec, roles=roles, time_limit_s=50.0)
    return replace(
        job,
        spec=spec,
        owner=owner,
        cluster=cluster,
        created_at=created_at,
        started_at=created_at + 5.0,
        ended_at=created_at + 35.0,
        state=Succeeded(created_at + 35.0),
        ran_s=29.0,
    )


async def test_a_job_has_what_all_its_tasks_asked_for(store: Store) -> None:
    await store.apply(Change(new_job=replace(a_past_job(1, 110.0), preemptions=2)))
    (job,) = await store.past_jobs(WINDOW, "lab", None, limit=10)
    assert (job.cpu_m, job.memory_bytes, job.gpu_m, job.gpu_model) == (10_000, 10 << 30, 8000, "A100")
    assert (job.created_at, job.started_at, job.ended_at, job.ran_s, job.time_limit_s) == (110, 115, 145, 29.0, 50.0)
    assert job.preemptions == 2


async def test_only_jobs_of_the_window_the_cluster_and_the_owner_that_have_run(store: Store) -> None:
    never_started = replace(a_past_job(3, 120.0), started_at=None, state=Cancelled(155.0))
    still_open = replace(a_past_job(4, 120.0), state=Running(125.0), ended_at=None)
    for job in (
        a_past_job(1, 110.0),
        a_past_job(2, 130.0, owner="bo"),
        never_started,
        still_open,
        a_past_job(5, 90.0),
        a_past_job(6, 200.0),
        a_past_job(7, 140.0, cluster="other"),
    ):
        await store.apply(Change(new_job=job))
    assert [job.created_at for job in await store.past_jobs(WINDOW, "lab", None, limit=10)] == [130.0, 110.0]
    assert [job.owner for job in await store.past_jobs(WINDOW, "lab", "bo", limit=10)] == ["bo"]
    assert [job.created_at for job in await store.past_jobs(WINDOW, "lab", None, limit=1)] == [130.0]
