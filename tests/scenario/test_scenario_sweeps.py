"""Sweeps in the engine: their members are made once each, as many at a time as there may be, and stopped together."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.errors import Conflict, Invalid, TooMany
from muster.domain.experiments.job_metrics import MetricBatch, MetricPoint
from muster.domain.experiments.sweeps import Goal, StopBy, StopEarly, Sweep, SweepPlan, SweepState, best_of, sweep_state
from muster.domain.jobs import Job
from muster.domain.limits import Limits
from muster.engine.requests.retention import retain_once
from muster.engine.sweeps import requests as sweeps
from muster.ports.store import Change, JobFilter, Members, RequestKey
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import DEADLINE_S, Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


@pytest.fixture(autouse=True)
async def amy(lab: Laboratory) -> None:
    user = User("amy", UserRole.USER, 1.0, id="amy-id")
    await lab.context.store.apply(Change(new_user=user))


def grid(count: int, **more: object) -> SweepPlan:
    return SweepPlan(grid=(("lr", tuple(range(1, count + 1))),), **more)  # type: ignore[arg-type]


async def submitted(lab: Laboratory, plan: SweepPlan, name: str = "search", cpu: float = 1.0) -> Sweep:
    sweep, is_new = await sweeps.submit(lab.context, a_spec(a_role(cpu=cpu), name=name), plan, "amy", None)
    assert is_new
    return sweep


async def members(lab: Laboratory, sweep: Sweep) -> list[Job]:
    return await lab.context.store.members(sweep.id, limit=100_000)


async def until_members(lab: Laboratory, sweep: Sweep, condition: Callable[[list[Job]], object]) -> list[Job]:
    async with asyncio.timeout(DEADLINE_S):
        while not condition(found := await members(lab, sweep)):
            await asyncio.sleep(0.005)
    return found


async def end(lab: Laboratory, job: Job, exit_code: int = 0) -> None:
    await lab.becomes(job.id, "Running")
    lab.backend.end(f"{job.id}.1.worker.0", exit_code)


async def until_ended(lab: Laboratory, sweep: Sweep) -> SweepState:
    async with asyncio.timeout(DEADLINE_S):
        while (stored := await lab.context.store.sweep(sweep.id)).ended_at is None:
            await asyncio.sleep(0.005)
    return sweep_state(stored, (await lab.context.store.member_counts([sweep.id]))[sweep.id])


async def test_members_are_ordinary_jobs_with_params_of_their_own(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(3))
    found = await until_members(lab, sweep, lambda jobs: len(jobs) == 3)
    assert [(job.name, job.member, dict(job.spec.params)) for job in found] == [
        ("search-1", 1, {"lr": 1}),
        ("search-2", 2, {"lr": 2}),
        ("search-3", 3, {"lr": 3}),
    ]
    for job in found:
        await end(lab, job)
    assert await until_ended(lab, sweep) is SweepState.SUCCEEDED
    assert sweep.id not in lab.context.open_sweeps


async def test_a_member_that_failed_makes_the_sweep_failed(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(2))
    first, second = await until_members(lab, sweep, lambda jobs: len(jobs) == 2)
    await end(lab, first)
    await end(lab, second, 1)
    assert await until_ended(lab, sweep) is SweepState.FAILED


async def test_more_members_than_one_transaction_has_are_all_made_once(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(700), cpu=8)
    found = await until_members(lab, sweep, lambda jobs: len(jobs) == 700)
    assert [job.member for job in found] == list(range(1, 701))
    assert len({job.name for job in found}) == 700


async def test_no_more_members_are_open_at_once_than_max_running(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(5, max_running=2))
    first, second = await until_members(lab, sweep, lambda jobs: len(jobs) == 2)
    await lab.becomes(first.id, "Running")
    await lab.becomes(second.id, "Running")
    assert "maxRunning" in sweeps.waits_for(lab.context, sweep)
    assert len(await members(lab, sweep)) == 2
    await end(lab, first)
    found = await until_members(lab, sweep, lambda jobs: len(jobs) == 3)
    assert sum(not job.is_final for job in found) <= 2


async def test_a_server_that_died_goes_on_with_the_next_member(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(600), cpu=8)
    await lab.restart()
    found = await until_members(lab, sweep, lambda jobs: len(jobs) == 600)
    assert [job.member for job in found] == list(range(1, 601))


async def test_a_repeated_request_key_returns_the_first_sweep(lab: Laboratory) -> None:
    key = RequestKey("amy", "k1", "digest")
    first, is_new = await sweeps.submit(lab.context, a_spec(name="search"), grid(2), "amy", key)
    again, is_new_again = await sweeps.submit(lab.context, a_spec(name="search"), grid(2), "amy", key)
    assert (is_new, is_new_again) == (True, False)
    assert again.id == first.id
    with pytest.raises(Conflict, match="another request"):
        await sweeps.submit(lab.context, a_spec(name="other"), grid(2), "amy", RequestKey("amy", "k1", "else"))
    assert len(await members(lab, first)) == 2


async def test_requests_with_one_key_at_the_same_time_make_one_sweep(lab: Laboratory) -> None:
    key = RequestKey("amy", "k1", "digest")
    made = await asyncio.gather(
        *(sweeps.submit(lab.context, a_spec(name="search"), grid(2), "amy", key) for _ in range(5))
    )
    assert len({sweep.id for sweep, _ in made}) == 1
    assert sum(is_new for _, is_new in made) == 1


async def test_a_stopped_sweep_ends_its_members_and_makes_no_more(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(20, max_running=10))
    await until_members(lab, sweep, lambda jobs: sum(job.state_name == "Running" for job in jobs) == 8)
    stopped = await sweeps.stop(lab.context, sweep.id, "amy")
    assert stopped.stopped_by == "amy"
    assert await until_ended(lab, sweep) is SweepState.CANCELLED
    found = await members(lab, sweep)
    assert {job.state_name for job in found} == {"Cancelled"}
    assert len(found) == 10
    assert (await sweeps.stop(lab.context, sweep.id, "bob")).stopped_by == "amy"


async def test_a_stop_that_a_dead_server_has_only_written_is_carried_out_by_the_next(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(10))
    await until_members(lab, sweep, lambda jobs: sum(job.state_name == "Running" for job in jobs) == 8)
    entry = lab.context.open_sweeps[sweep.id]
    await entry.lock.acquire()  # so that the loop of this server does nothing more
    stored = await lab.context.store.sweep(sweep.id)
    stopped = replace(stored, stopped_by="amy", version=stored.version + 1)
    await lab.context.store.apply(Change(sweep=stopped))
    await lab.restart()
    assert await until_ended(lab, sweep) is SweepState.CANCELLED


async def test_an_ended_sweep_cannot_be_stopped(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(1))
    (job,) = await until_members(lab, sweep, lambda jobs: len(jobs) == 1)
    await end(lab, job)
    await until_ended(lab, sweep)
    with pytest.raises(Conflict, match="already ended"):
        await sweeps.stop(lab.context, sweep.id, "amy")


async def test_a_member_name_that_is_taken_refuses_the_sweep(lab: Laboratory) -> None:
    await lab.submit(a_spec(name="search-2"))
    with pytest.raises(Conflict, match="search-2"):
        await submitted(lab, grid(3))
    assert await lab.context.store.open_sweeps() == []
    assert await lab.context.store.count_jobs(JobFilter(), most=10) == 1


async def test_a_name_taken_later_makes_the_sweep_wait_and_say_why(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(2, max_running=1))
    (first,) = await until_members(lab, sweep, lambda jobs: len(jobs) == 1)
    other = await lab.submit(a_spec(name="search-2"))
    await end(lab, first)
    await lab.until(lambda: "search-2" in sweeps.waits_for(lab.context, sweep))
    await lab.becomes(other, "Running")
    lab.backend.end(f"{other}.1.worker.0")
    await until_members(lab, sweep, lambda jobs: len(jobs) == 2)


async def test_a_limit_on_open_jobs_makes_the_rest_wait(lab: Laboratory) -> None:
    lab.context.limits = Limits(open_jobs_per_user=3)
    sweep = await submitted(lab, grid(5))
    first, *_ = await until_members(lab, sweep, lambda jobs: len(jobs) == 3)
    await lab.until(lambda: "3 are allowed" in sweeps.waits_for(lab.context, sweep))
    await end(lab, first)
    await until_members(lab, sweep, lambda jobs: len(jobs) == 4)
    await lab.until(lambda: lab.context.open_jobs.count_of("amy") == 3)
    with pytest.raises(TooMany):
        await submitted(lab, grid(1), name="another")


async def test_a_sweep_that_can_never_run_is_refused(lab: Laboratory) -> None:
    with pytest.raises(Invalid):
        await submitted(lab, grid(2), cpu=4000)
    assert await lab.context.store.open_sweeps() == []


async def test_lists_of_jobs_leave_members_out_if_asked(lab: Laboratory) -> None:
    alone = await lab.submit(a_spec(name="alone"))
    sweep = await submitted(lab, grid(3))
    store = lab.context.store
    assert [job.id for job in (await store.jobs(JobFilter(members=Members.NONE), limit=10)).items] == [alone]
    assert await store.count_jobs(JobFilter(members=Members.ONLY), most=10) == 3
    assert {job.member for job in (await store.jobs(JobFilter(sweep=sweep.id), limit=10)).items} == {1, 2, 3}


async def test_retention_removes_a_sweep_with_its_last_member(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(1))
    (job,) = await until_members(lab, sweep, lambda jobs: len(jobs) == 1)
    await end(lab, job)
    await until_ended(lab, sweep)
    lab.context.keep_finished_s = 10.0
    lab.pass_time(100.0)
    await retain_once(lab.context)
    assert await lab.context.store.find_sweep("amy", "search") is None


async def log(lab: Laboratory, job: Job, *values: float, attempt: int = 1) -> None:
    points = [MetricPoint("acc", step + 1, 1.0, value) for step, value in enumerate(values)]
    await lab.context.store.apply(Change(metrics=MetricBatch(job.id, attempt, points)))


async def test_the_best_member_so_far_is_known_while_others_run(lab: Laboratory) -> None:
    sweep = await submitted(lab, grid(3, metric="acc", goal=Goal.MAX))
    first, second, _ = await until_members(lab, sweep, lambda jobs: len(jobs) == 3)
    await lab.becomes(first.id, "Running")
    await lab.becomes(second.id, "Running")
    await log(lab, first, 0.1, 0.7, 0.2)
    await log(lab, second, 0.3, 0.6)
    best = best_of(Goal.MAX, await lab.context.store.member_values(sweep))
    assert best is not None
    assert (best.member, best.value, best.step) == (1, 0.7, 2)


async def test_a_member_below_the_median_is_stopped_early_and_the_sweep_can_still_succeed(lab: Laboratory) -> None:
    rule = StopEarly(StopBy.MEDIAN, after_step=2, members=2)
    sweep = await submitted(lab, grid(4, metric="acc", goal=Goal.MAX, stop_early=rule))
    found = await until_members(lab, sweep, lambda jobs: sum(job.state_name == "Running" for job in jobs) == 4)
    for job in found[:3]:
        await log(lab, job, 0.5, 0.5)
    await log(lab, found[3], 0.1, 0.2)
    stopped = await lab.becomes(found[3].id, "Cancelled")
    assert "stopped early" in stopped.reason
    for job in found[:3]:
        lab.backend.end(f"{job.id}.1.worker.0")
    assert await until_ended(lab, sweep) is SweepState.SUCCEEDED


async def test_a_member_whose_values_are_not_numbers_is_stopped_early_and_is_never_the_best(lab: Laboratory) -> None:
    rule = StopEarly(StopBy.HALVING, after_step=1, members=3)
    sweep = await submitted(lab, grid(3, metric="acc", goal=Goal.MAX, stop_early=rule))
    found = await until_members(lab, sweep, lambda jobs: sum(job.state_name == "Running" for job in jobs) == 3)
    await log(lab, found[0], 0.5)
    await log(lab, found[1], 0.9, math.nan)
    await log(lab, found[2], math.nan)
    for job in found[1:]:
        assert "is NaN" in (await lab.becomes(job.id, "Cancelled")).reason
    values = await lab.context.store.member_values(sweep)
    assert {one.member: (one.value, one.has_diverged) for one in values} == {
        1: (0.5, False),
        2: (0.9, True),
        3: (None, True),
    }
    best = best_of(Goal.MAX, values)
    assert best is not None
    assert best.member == 1
