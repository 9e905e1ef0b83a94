"""Gangs that make way: stopped with their own grace, back in the queue, with the work they saved."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.jobs import Held, Job, Queued, Running
from muster.domain.reasons import Reason
from muster.domain.specs import Priority
from muster.engine.data.logs import LogReader
from muster.engine.lifecycle import preempting
from muster.engine.lifecycle.consistency import differences
from muster.engine.lifecycle.cycling import carry_out
from muster.engine.requests import commands
from muster.engine.requests.explaining import explain, live_reasons
from muster.scheduling.demand import Slot, demand_of
from muster.scheduling.plan import Plan, Preemption, Start
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
FOR_BERT = Reason("preempted", "made way for bert of vc vision")
RESIZED = Reason("resize", "starts again with 4 workers")


def preempt(lab: Laboratory, job_id: str, reason: Reason = FOR_BERT) -> None:
    carry_out(lab.context, lab.context.clusters["lab"], Plan(preemptions=(Preemption(job_id, reason),)))


async def a_running_job(lab: Laboratory, **fields: object) -> str:
    job_id = await lab.submit(a_spec(a_role(replicas=2), **fields))  # type: ignore[arg-type]
    await lab.becomes(job_id, "Running")
    return job_id


async def test_a_preempted_gang_is_stopped_with_its_own_grace_and_starts_again(lab: Laboratory) -> None:
    job_id = await a_running_job(lab, grace_s=7.5)
    preempt(lab, job_id)
    job = await lab.becomes(job_id, "Running", attempt=2)
    assert lab.backend.stops == [(f"{job_id}.1.worker.0", 7.5), (f"{job_id}.1.worker.1", 7.5)]
    assert (job.preemptions, job.retries, job.platform_retries) == (1, 0, 0)
    told = [(event.kind, event.data["reason"]) for event in await lab.events(job_id) if event.kind.startswith("job.")]
    assert told[3:5] == [("job.stopping", FOR_BERT.message), ("job.queued", FOR_BERT.message)]
    assert [task.state_name for task in await lab.tasks(job_id, 1)] == ["Stopped", "Stopped"]


async def test_the_explanation_of_a_job_that_runs_again_says_by_whom_it_was_preempted(lab: Laboratory) -> None:
    job_id = await a_running_job(lab)
    preempt(lab, job_id)
    job = await lab.becomes(job_id, "Running", attempt=2)
    told = await explain(lab.context, LogReader(lab.context), job)
    assert [attempt.stopped_because for attempt in told.attempts] == [FOR_BERT.message, ""]
    assert told.attempts[0].outcome == f"Stopped: {FOR_BERT.message}"


async def test_a_preempted_job_waits_without_backing_off_and_its_places_are_free(lab: Laboratory) -> None:
    job_id = await a_running_job(lab)
    lab.backend.auto_stop = False
    bert = await lab.submit(a_spec(a_role(cpu=8), name="bert", priority=Priority.HIGH))
    preempt(lab, job_id)
    await lab.becomes(job_id, "Stopping")
    await lab.settled()
    assert lab.backend.of(bert) == [], "places are free only when the last task has ended"
    lab.pass_time(5.0)
    for index in range(2):
        lab.backend.end(f"{job_id}.1.worker.{index}", exit_code=143, stopped=True)
    job = await lab.becomes(job_id, "Queued")
    assert job.state == Queued(lab.now)
    await lab.becomes(bert, "Running")


@pytest.mark.parametrize("command", [commands.kill, commands.hold])
async def test_a_kill_or_hold_during_the_stop_wins(lab: Laboratory, command) -> None:  # type: ignore[no-untyped-def]
    lab.backend.auto_stop = False
    job_id = await a_running_job(lab)
    preempt(lab, job_id)
    await lab.becomes(job_id, "Stopping")
    await command(lab.context, job_id, "amy")
    for index in range(2):
        lab.backend.end(f"{job_id}.1.worker.{index}", exit_code=143, stopped=True)
    ended = await lab.becomes(job_id, "Cancelled" if command is commands.kill else "Held")
    assert ended.reason == ("killed by amy" if command is commands.kill else "held by amy")


async def test_a_preemption_survives_a_restart_in_its_middle(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await a_running_job(lab)
    preempt(lab, job_id)
    await lab.becomes(job_id, "Stopping")
    await lab.close()
    lab.backend.auto_stop = True
    await lab.open()
    job = await lab.becomes(job_id, "Running", attempt=2)
    assert job.preemptions == 1
    assert all(count == 1 for count in lab.backend.starts.values())


async def test_a_starting_gang_can_be_preempted(lab: Laboratory) -> None:
    lab.backend.auto_start = False
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Starting")
    lab.backend.begin(f"{job_id}.1.worker.0")
    preempt(lab, job_id)
    job = await lab.becomes(job_id, "Starting", attempt=2)
    assert (job.preemptions, job.ran_s) == (1, 0.0)
    assert [task.state_name for task in await lab.tasks(job_id, 1)] == ["Stopped", "Stopped"]


async def test_a_gang_that_is_just_being_launched_is_preempted_after_the_launch(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    assign = type(lab.backend).assign

    async def slow(backend, gang, ports):  # type: ignore[no-untyped-def]
        await gate.wait()
        return await assign(backend, gang, ports)

    blocker = await lab.submit(a_spec(a_role(cpu=8), name="in-the-way"))
    await lab.becomes(blocker, "Running")
    job_id = await lab.submit(a_spec(replace(a_role(), ports=1)))
    monkeypatch.setattr(type(lab.backend), "assign", slow)
    lab.backend.end(f"{blocker}.1.worker.0")
    await lab.until(lambda: lab.context.clusters["lab"].used("n1")[0] == 1000)
    preempt(lab, job_id)
    gate.set()
    job = await lab.becomes(job_id, "Running", attempt=2)
    assert job.preemptions == 1


async def test_a_preemption_of_an_attempt_that_is_over_does_not_touch_the_next(lab: Laboratory) -> None:
    job_id = await a_running_job(lab, retry_max=3)
    entry = lab.context.open_jobs.get(job_id)
    assert entry is not None
    async with entry.lock:
        preempt(lab, job_id)
        preempt(lab, job_id)
    job = await lab.becomes(job_id, "Running", attempt=2)
    await lab.settled()
    assert (await lab.job(job_id)).attempt == 2
    assert job.preemptions == 1


async def test_a_gang_that_had_done_its_work_before_it_heard_has_succeeded(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await a_running_job(lab)
    preempt(lab, job_id)
    await lab.becomes(job_id, "Stopping")
    for index in range(2):
        lab.backend.end(f"{job_id}.1.worker.{index}", exit_code=0)
    await lab.becomes(job_id, "Succeeded")


async def test_work_up_to_the_last_checkpoint_is_kept_and_the_rest_is_lost(lab: Laboratory) -> None:
    job_id = await a_running_job(lab)
    lab.pass_time(100.0)
    lab.backend.checkpoint(f"{job_id}.1.worker.1")
    lab.pass_time(50.0)
    await lab.until(lambda: _in_memory(lab, job_id).checkpoint_at is not None)
    preempt(lab, job_id)
    job = await lab.becomes(job_id, "Running", attempt=2)
    assert (job.ran_s, job.checkpoint_at) == (100.0, None)
    lab.pass_time(30.0)
    preempt(lab, job_id)
    job = await lab.becomes(job_id, "Running", attempt=3)
    assert (job.ran_s, job.preemptions) == (100.0, 2)


async def test_run_time_is_that_of_all_attempts_without_the_time_between_them(lab: Laboratory) -> None:
    job_id = await a_running_job(lab)
    began = lab.now
    assert (await lab.job(job_id)).running_since == began
    lab.pass_time(150.0)
    await commands.hold(lab.context, job_id, "amy")
    job = await lab.becomes(job_id, "Held")
    assert (job.run_time_s, job.running_since, job.ran_s) == (150.0, None, 0.0)
    lab.pass_time(10_000.0)
    await commands.resume(lab.context, job_id, "amy")
    job = await lab.becomes(job_id, "Running", attempt=2)
    assert (job.started_at, job.run_time_s, job.running_since) == (began, 150.0, lab.now)
    lab.pass_time(30.0)
    for index in range(2):
        lab.backend.end(f"{job_id}.2.worker.{index}")
    job = await lab.becomes(job_id, "Succeeded")
    assert (job.run_time_s, job.running_since) == (180.0, None)


async def test_a_checkpoint_written_in_the_grace_period_counts(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await a_running_job(lab)
    lab.pass_time(100.0)
    preempt(lab, job_id)
    await lab.becomes(job_id, "Stopping")
    lab.pass_time(5.0)
    lab.backend.checkpoint(f"{job_id}.1.worker.0")
    for index in range(2):
        lab.backend.end(f"{job_id}.1.worker.{index}", exit_code=143, stopped=True)
    assert (await lab.becomes(job_id, "Running", attempt=2)).ran_s == 105.0


async def test_the_gangs_checkpoint_is_the_latest_of_its_tasks_and_is_told_once(lab: Laboratory) -> None:
    job_id = await a_running_job(lab)
    lab.pass_time(10.0)
    lab.backend.checkpoint(f"{job_id}.1.worker.0")
    await lab.settled()
    lab.pass_time(0.2)
    lab.backend.checkpoint(f"{job_id}.1.worker.1")
    await lab.settled()
    assert (await lab.told(job_id)).count("job.checkpointed") == 1
    lab.pass_time(10.0)
    lab.backend.checkpoint(f"{job_id}.1.worker.1")
    await lab.settled()
    assert (await lab.told(job_id)).count("job.checkpointed") == 2
    assert (await lab.job(job_id)).checkpoint_at == lab.now
    assert (await lab.job(job_id)).state == Running(lab.now - 20.2)


async def test_a_checkpoint_made_while_the_server_was_away_is_known_after_its_start(lab: Laboratory) -> None:
    job_id = await a_running_job(lab)
    await lab.close()
    lab.backend.clock += 10.0
    lab.backend.checkpoint(f"{job_id}.1.worker.0")
    await lab.open()
    await lab.until(lambda: _in_memory(lab, job_id).checkpoint_at == lab.now)


async def test_a_held_job_keeps_its_work(lab: Laboratory) -> None:
    job_id = await a_running_job(lab)
    lab.pass_time(999.0)
    lab.backend.checkpoint(f"{job_id}.1.worker.0")
    await lab.settled()
    await commands.hold(lab.context, job_id, "amy")
    job = await lab.becomes(job_id, "Held")
    assert job.state == Held(lab.now, "amy")
    assert job.ran_s == 999.0


async def test_an_ended_job_knows_how_long_it_ran(lab: Laboratory) -> None:
    job_id = await a_running_job(lab)
    lab.pass_time(40.0)
    for index in range(2):
        lab.backend.end(f"{job_id}.1.worker.{index}")
    assert (await lab.becomes(job_id, "Succeeded")).ran_s == 40.0


async def test_an_elastic_gang_runs_with_the_places_it_was_given_and_is_resized(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role(replicas=2, least=1, most=4), held=True))
    await commands.resume(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Running")
    cluster = lab.context.clusters["lab"]
    preempt(lab, job_id, RESIZED)
    await lab.becomes(job_id, "Running", attempt=2)
    await commands.hold(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Held")
    job = await commands.resume(lab.context, job_id, "amy")
    cluster.unqueued(job_id)
    worker = job.spec.roles[0].resources
    slots = tuple(Slot("worker", index, "n1", worker) for index in range(4))
    cluster.holds(demand_of(job), slots, lab.now)
    carry_out(lab.context, cluster, Plan(starts=(Start(job_id, slots),)))
    job = await lab.becomes(job_id, "Running", attempt=3)
    assert (job.sizes, job.tally.active, job.preemptions) == ((("worker", 4),), 4, 0)
    environments = [lab.backend.tasks[f"{job_id}.3.worker.{index}"].request.env for index in range(4)]
    assert {env["MUSTER_WORLD_SIZE"] for env in environments} == {"4"}
    for index in range(4):
        lab.backend.end(f"{job_id}.3.worker.{index}")
    assert (await lab.becomes(job_id, "Succeeded")).tally.succeeded == 4


def _in_memory(lab: Laboratory, job_id: str) -> Job:
    entry = lab.context.open_jobs.get(job_id)
    assert entry is not None
    return entry.job


GPUS = ("A100",) * 4
SHARES = """
{name: vision, guaranteed: {gpu: {A100: 4}}}
---
{name: speech}
"""


@pytest.fixture
async def shared(tmp_path: Path, database_template: Path) -> AsyncIterator[Laboratory]:
    """Four GPUs, all promised to vision; speech lives on what is idle."""
    laboratory = Laboratory(tmp_path, database_template, FakeBackend([a_node("n1", 32, 64 * GIB, *GPUS)]))
    laboratory.clusters.mkdir()
    (laboratory.clusters / "vcs.yaml").write_text(SHARES)
    await laboratory.open()
    yield laboratory
    await laboratory.close()


async def a_borrower(lab: Laboratory, **fields: object) -> str:
    job_id = await lab.submit(a_spec(a_role(replicas=4, gpus=1), name="whisper", cluster="speech", **fields))  # type: ignore[arg-type]
    await lab.becomes(job_id, "Running")
    return job_id


async def test_a_guarantee_is_claimed_from_who_borrowed_it_and_the_borrower_comes_back(shared: Laboratory) -> None:
    borrower = await a_borrower(shared)
    shared.pass_time(600.0)
    owner = await shared.submit(a_spec(a_role(gpus=4), name="resnet", cluster="vision"))
    await shared.becomes(owner, "Running")
    job = await shared.becomes(borrower, "Queued")
    assert (job.preemptions, "resnet" in job.reason) == (1, True)
    assert await differences(shared.context) == []
    shared.backend.end(f"{owner}.1.worker.0")
    await shared.becomes(borrower, "Running", attempt=2)


async def test_a_restart_in_the_middle_of_a_claim_changes_nothing_of_it(shared: Laboratory) -> None:
    shared.backend.auto_stop = False
    borrower = await a_borrower(shared)
    shared.pass_time(600.0)
    owner = await shared.submit(a_spec(a_role(gpus=4), name="resnet", cluster="vision"))
    await shared.becomes(borrower, "Stopping")
    await shared.settled()
    assert await differences(shared.context) == []
    reasons = live_reasons(shared.context, await shared.job(owner))
    assert "whisper" in reasons[0].message
    await shared.restart()
    assert (await shared.job(owner)).state_name == "Queued"
    for index in range(4):
        shared.backend.end(f"{borrower}.1.worker.{index}", exit_code=143, stopped=True)
    await shared.becomes(owner, "Running")
    job = await shared.becomes(borrower, "Queued")
    assert job.preemptions == 1
    assert await differences(shared.context) == []


async def test_a_gang_sent_away_before_its_launch_began_waits_again(shared: Laboratory) -> None:
    blocker = await shared.submit(a_spec(a_role(gpus=4), name="in-the-way", cluster="vision"))
    await shared.becomes(blocker, "Running")
    borrower = await shared.submit(a_spec(a_role(gpus=4), name="whisper", cluster="speech"))
    entry = shared.context.open_jobs.get(borrower)
    assert entry is not None
    async with entry.lock:  # its launch has to wait
        shared.backend.end(f"{blocker}.1.worker.0")
        await shared.until(lambda: shared.context.clusters["lab"].allocations.by_job.get(borrower))
        owner = await shared.submit(a_spec(a_role(gpus=4), name="resnet", cluster="vision"))
        await shared.until(lambda: borrower in shared.context.clusters["lab"].allocations.preempted)
    await shared.becomes(owner, "Running")
    await shared.settled()
    assert await differences(shared.context) == []
    assert (await shared.job(borrower)).state_name == "Queued"
    assert shared.backend.of(borrower) == []
    shared.backend.end(f"{owner}.1.worker.0")
    await shared.becomes(borrower, "Running")


async def test_a_gang_sent_away_while_it_is_being_submitted_leaves(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preempting, "RETRY_S", 0.01)
    gate = asyncio.Event()
    assign = type(lab.backend).assign

    async def slow(backend, gang, ports):  # type: ignore[no-untyped-def]
        await gate.wait()
        return await assign(backend, gang, ports)

    monkeypatch.setattr(type(lab.backend), "assign", slow)
    submitting = asyncio.create_task(lab.submit(a_spec(replace(a_role(cpu=8), ports=1))))
    cluster = lab.context.clusters["lab"]
    await lab.until(lambda: cluster.allocations.by_job)
    urgent = await lab.submit(a_spec(a_role(cpu=8), name="bert", priority=Priority.URGENT))
    await lab.until(lambda: cluster.allocations.preempted)
    gate.set()
    job_id = await submitting
    await lab.becomes(urgent, "Running")
    assert (await lab.becomes(job_id, "Queued")).preemptions == 1


async def test_an_elastic_gang_keeps_its_size_over_a_restart(lab: Laboratory) -> None:
    in_the_way = await lab.submit(a_spec(a_role(cpu=5), name="in-the-way"))
    await lab.becomes(in_the_way, "Running")
    job_id = await lab.submit(a_spec(a_role(replicas=8, least=2, most=8)))
    job = await lab.becomes(job_id, "Running")
    assert job.sizes == (("worker", 3),)
    await lab.restart()
    assert await differences(lab.context) == []
    assert lab.context.clusters["lab"].used("n1")[0] == 8000
    for index in range(3):
        lab.backend.end(f"{job_id}.1.worker.{index}")
    await lab.becomes(job_id, "Succeeded")
