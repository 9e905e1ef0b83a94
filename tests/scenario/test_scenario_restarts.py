"""The engine goes away in every state and comes back: nothing lost, nothing twice."""

import asyncio

import pytest

from muster.domain.errors import Unavailable
from muster.domain.nodes import NodeState
from muster.engine.lifecycle.observing import receive
from muster.engine.lifecycle.reconciling import reconcile
from muster.engine.requests import commands
from muster.ports.backend import Observation, Phase
from tests.parts.building import a_node, a_ps_spec, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def test_queued_and_held_jobs_wait_on(lab: Laboratory) -> None:
    first = await lab.submit(a_spec(a_role(cpu=8), name="first"))
    queued = await lab.submit(a_spec(name="queued"))
    held = await lab.submit(a_spec(name="held", held=True))
    await lab.becomes(first, "Running")
    await lab.restart()
    assert lab.context.clusters["lab"].used("n1")[0] == 8000
    assert ((await lab.job(queued)).state_name, (await lab.job(held)).state_name) == ("Queued", "Held")
    lab.backend.end(f"{first}.1.worker.0")
    await lab.becomes(first, "Succeeded")
    await lab.becomes(queued, "Running")
    await commands.resume(lab.context, held, "amy")
    await lab.becomes(held, "Running")


async def test_a_running_job_runs_on_and_ends_once(lab: Laboratory) -> None:
    job_id = await lab.submit(a_ps_spec())
    await lab.becomes(job_id, "Running")
    await lab.restart()
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running"
    for index in range(2):
        lab.backend.end(f"{job_id}.1.worker.{index}")
    await lab.becomes(job_id, "Succeeded")
    assert set(lab.backend.starts.values()) == {1}


async def test_an_end_that_came_while_nobody_watched_is_seen(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await lab.close()
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=5)
    await lab.open()
    await lab.becomes(job_id, "Failed")


async def test_an_attempt_that_somebody_removed_while_nobody_watched_is_cancelled(lab: Laboratory) -> None:
    job_id = await lab.submit(a_ps_spec(retry_max=3))
    await lab.becomes(job_id, "Running")
    await lab.close()
    lab.backend.tasks.clear()
    lab.backend.removal = "gang-1 was deleted there"
    await lab.open()
    await lab.becomes(job_id, "Cancelled")
    job = await lab.job(job_id)
    assert (job.attempt, job.reason) == (1, "gang-1 was deleted there")


async def test_an_attempt_that_was_never_started_is_launched_whatever_is_not_there(lab: Laboratory) -> None:
    lab.backend.requests_lost = 1
    job_id = await lab.submit(a_spec())
    await lab.until(lambda: not lab.backend.requests_lost)
    await lab.close()
    lab.backend.removal = "gang-1 was deleted there"
    await lab.open()
    await lab.becomes(job_id, "Running")
    assert (await lab.job(job_id)).attempt == 1


async def test_nothing_is_judged_while_nobody_knows_who_removed_an_attempt(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(retry_max=3))
    await lab.becomes(job_id, "Running")
    await lab.close()
    lab.backend.tasks.clear()
    lab.backend.removal, lab.backend.removal_errors = "gang-1 was deleted there", 1
    await lab.open()
    await lab.until(lambda: not lab.backend.removal_errors)
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running"
    await reconcile(lab.context, "lab")
    await lab.becomes(job_id, "Cancelled")


async def test_a_start_and_an_end_that_nobody_watched_are_both_told(lab: Laboratory) -> None:
    lab.backend.auto_start = False
    job_id = await lab.submit(a_spec())
    await lab.until(lambda: lab.backend.tasks)
    await lab.close()
    lab.backend.begin(f"{job_id}.1.worker.0")
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.open()
    await lab.becomes(job_id, "Succeeded")
    told = await lab.told(job_id)
    assert told[-4:] == ["task.running", "task.succeeded", "job.running", "job.succeeded"]


async def test_an_intent_that_was_not_acted_on_is_acted_on(lab: Laboratory) -> None:
    lab.backend.requests_lost = 2
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Starting"
    assert lab.backend.tasks == {}
    await lab.restart()
    job = await lab.becomes(job_id, "Running")
    assert job.attempt == 1
    assert set(lab.backend.starts.values()) == {1}


async def test_a_launch_that_happened_but_was_not_recorded_is_not_repeated(lab: Laboratory) -> None:
    lab.backend.auto_start = False
    lab.backend.answers_lost = 1
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.settled()
    await lab.close()
    for task_id in lab.backend.of(job_id):
        lab.backend.begin(task_id)
    await lab.open()
    await lab.becomes(job_id, "Running")
    assert [lab.backend.starts[f"{job_id}.1.worker.{index}"] for index in range(2)] == [1, 1]


async def test_half_a_gang_that_was_launched_is_completed(lab: Laboratory) -> None:
    lab.backend.requests_lost = 1
    job_id = await lab.submit(a_spec(a_role(replicas=3)))
    await lab.settled()
    assert len(lab.backend.tasks) == 2
    await lab.restart()
    await lab.becomes(job_id, "Running")
    assert sorted(lab.backend.starts.values()) == [1, 1, 1]


async def test_a_task_that_its_agent_left_prepared_is_launched_again(lab: Laboratory) -> None:
    lab.backend.auto_start = False
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.until(lambda: len(lab.backend.tasks) == 2)
    lab.backend.leave()
    lab.backend.come_back()
    await lab.settled()
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Preparing", "Preparing"]
    lab.backend.leave()
    lab.backend.auto_start = True
    lab.backend.come_back()
    job = await lab.becomes(job_id, "Running")
    assert job.attempt == 1
    assert set(lab.backend.starts.values()) == {1}


async def test_a_node_that_returns_during_a_launch_is_asked_after_it(lab: Laboratory) -> None:
    """What it had answered before may never have been acted on."""
    job_id = await lab.submit(a_spec(held=True))
    entry = lab.context.open_jobs.get(job_id)
    assert entry is not None
    lab.backend.auto_start = False
    await commands.resume(lab.context, job_id, "amy")
    await lab.until(lambda: lab.backend.tasks)
    await lab.settled()
    entry.launched.clear()
    lab.backend.auto_start = True
    lab.backend.leave()
    lab.backend.come_back()
    for _ in range(20):
        await asyncio.sleep(0)
    assert (await lab.job(job_id)).state_name == "Starting"
    entry.launched.set()
    await lab.becomes(job_id, "Running", attempt=1)


async def test_a_job_that_was_stopping_goes_on_stopping(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    await lab.until(lambda: len(lab.backend.stops) == 2)
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=143, stopped=True)
    await lab.settled()
    await lab.restart()
    await lab.until(lambda: len(lab.backend.stops) == 3)
    assert lab.backend.stops[-1][0] == f"{job_id}.1.worker.1"
    lab.backend.end(f"{job_id}.1.worker.1", exit_code=143, stopped=True)
    await lab.becomes(job_id, "Cancelled")
    assert lab.context.clusters["lab"].used("n1")[0] == 0


async def test_a_job_whose_tasks_all_ended_while_it_was_stopping_is_finished(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    await lab.close()
    for index in range(2):
        lab.backend.end(f"{job_id}.1.worker.{index}", exit_code=143, stopped=True)
    await lab.open()
    await lab.becomes(job_id, "Cancelled")


async def test_a_stopping_job_whose_tasks_the_node_forgot_is_finished(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    await lab.close()
    lab.backend.tasks.clear()
    await lab.open()
    await lab.becomes(job_id, "Cancelled")


async def test_a_retry_that_waited_keeps_waiting_its_time(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(retry_max=1))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=1)
    await lab.becomes(job_id, "Queued")
    await lab.restart()
    await lab.settled()
    assert lab.backend.of(job_id, 2) == []
    lab.pass_time(1.0)
    await lab.becomes(job_id, "Running", attempt=2)


async def test_a_time_limit_is_kept_through_a_restart(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(time_limit_s=100.0))
    await lab.becomes(job_id, "Running")
    await lab.close()
    lab.backend.clock += 100.0
    await lab.open()
    await lab.becomes(job_id, "Failed")


async def test_a_task_that_its_node_forgot_is_lost_and_the_job_is_tried_again(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await lab.close()
    lab.backend.tasks.clear()
    await lab.open()
    assert (await lab.becomes(job_id, "Queued")).platform_retries == 1


async def test_tasks_of_a_node_that_does_not_answer_are_not_taken_for_lost(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await lab.close()
    lab.backend.leave()
    await lab.open()
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running"
    lab.backend.come_back()
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running"
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Succeeded")
    assert set(lab.backend.starts.values()) == {1}


@pytest.mark.parametrize("errors", [0, 1])
async def test_tasks_that_belong_to_no_open_attempt_are_stopped(lab: Laboratory, errors: int) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Cancelled")
    await lab.close()
    orphan = f"{job_id}.1.worker.0"
    lab.backend.tasks[orphan].seen = Observation(orphan, Phase.RUNNING, orphan, "n1", started_at=1.0)
    lab.backend.stop_errors = errors
    await lab.open()
    await lab.until(lambda: not lab.backend.tasks[orphan].runs)
    assert lab.backend.stops[-1] == (orphan, 0.0)


async def test_a_task_taken_for_lost_is_stopped_when_its_node_comes_back(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.leave()
    lab.backend.lose(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Queued")
    assert lab.backend.tasks[f"{job_id}.1.worker.0"].runs
    lab.backend.come_back()
    await lab.until(lambda: not lab.backend.tasks[f"{job_id}.1.worker.0"].runs)
    lab.pass_time(1.0)
    await lab.becomes(job_id, "Running", attempt=2)


async def test_a_task_that_turns_up_running_after_its_attempt_is_stopped(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.leave()
    lab.backend.lose(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Queued")
    await lab.settled()
    lab.backend.away.clear()
    receive(lab.context, lab.backend.tasks[f"{job_id}.1.worker.0"].seen)
    await lab.until(lambda: not lab.backend.tasks[f"{job_id}.1.worker.0"].runs)
    assert (await lab.job(job_id)).state_name == "Queued"


async def test_an_answer_lost_on_the_way_is_asked_for_when_the_node_is_back(lab: Laboratory) -> None:
    lab.backend.requests_lost = 1
    lab.backend.answers_lost = 1
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Starting"
    lab.backend.leave()
    lab.backend.come_back()
    job = await lab.becomes(job_id, "Running")
    assert job.attempt == 1
    assert set(lab.backend.starts.values()) == {1}


async def test_a_kill_while_the_node_is_away_is_done_when_it_is_back(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.leave()
    await commands.kill(lab.context, job_id, "amy")
    assert (await lab.job(job_id)).state_name == "Stopping"
    lab.backend.come_back()
    await lab.becomes(job_id, "Cancelled")


async def test_jobs_wait_for_a_node_that_joins_later(lab: Laboratory) -> None:
    lab.backend.machines = [a_node("n1", state=NodeState.UNREACHABLE)]
    await lab.restart()
    job_id = await lab.submit(a_spec())
    await lab.settled()
    reason = lab.context.clusters["lab"].reason(job_id)
    assert reason is not None
    assert reason.code == "no-node"
    lab.backend.come_back()
    await lab.becomes(job_id, "Running")


@pytest.mark.parametrize("refusals", [1, 2])
async def test_an_observation_that_could_not_be_written_is_written_later(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    monkeypatch.setattr("muster.engine.lifecycle.observing.RETRY_S", 0.01)
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    apply = lab.context.store.apply
    refused = 0

    async def away(change):  # type: ignore[no-untyped-def]
        nonlocal refused
        if refused < refusals:
            refused += 1
            raise Unavailable("the database is away")
        return await apply(change)

    monkeypatch.setattr(lab.context.store, "apply", away)
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Succeeded")
    assert refused == refusals
    assert (await lab.told(job_id)).count("task.succeeded") == 1


async def test_a_time_limit_that_could_not_be_written_is_written_later(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.engine.lifecycle.completion.RETRY_S", 0.01)
    apply, refused = lab.context.store.apply, asyncio.Event()

    async def away_once(change):  # type: ignore[no-untyped-def]
        if change.job is not None and change.job.state_name == "Stopping" and not refused.is_set():
            refused.set()
            raise Unavailable("the database is away")
        return await apply(change)

    monkeypatch.setattr(lab.context.store, "apply", away_once)
    job_id = await lab.submit(a_spec(time_limit_s=0.05))
    await lab.becomes(job_id, "Failed")
    assert refused.is_set()
