"""Nodes go silent: their tasks are lost after a while and not before, and nothing runs twice when they come back."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from muster.domain.clusters import PhysicalCluster
from muster.domain.nodes import NodeState
from muster.engine.requests import commands
from muster.ports.backend import Phase
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
LOST_AFTER_S = 60.0
PAIR = a_spec(a_role(replicas=2, cpu=5), name="pair")


@pytest.fixture
async def pool(tmp_path: Path, database_template: Path) -> AsyncIterator[Laboratory]:
    """Two nodes, each large enough for one task of a pair."""
    settings = PhysicalCluster("lab", "fake", lost_after_s=LOST_AFTER_S)
    backend = FakeBackend([a_node("n1"), a_node("n2"), a_node("n3", state=NodeState.CORDONED)], settings=settings)
    laboratory = await Laboratory(tmp_path, database_template, backend).open()
    yield laboratory
    await laboratory.close()


def pass_silently(lab: Laboratory, seconds: float) -> None:
    lab.pass_time(seconds)
    lab.backend.tell_nodes()


def node_of(lab: Laboratory, task_id: str) -> str:
    return lab.backend.tasks[task_id].request.node


async def running_pair(lab: Laboratory) -> tuple[str, str, str]:
    """Its id, and its tasks on n1 and on n2."""
    job_id = await lab.submit(PAIR)
    await lab.becomes(job_id, "Running")
    first, second = sorted(lab.backend.of(job_id), key=lambda task_id: node_of(lab, task_id))
    assert (node_of(lab, first), node_of(lab, second)) == ("n1", "n2")
    return job_id, first, second


async def test_a_silent_node_loses_its_tasks_and_the_gang_is_tried_again_at_no_cost(pool: Laboratory) -> None:
    job_id, lost, rest = await running_pair(pool)
    pool.backend.leave("n1")
    pass_silently(pool, LOST_AFTER_S - 1)
    await pool.settled()
    assert (await pool.job(job_id)).state_name == "Running"
    pass_silently(pool, 1)
    job = await pool.becomes(job_id, "Queued")
    assert (job.retries, job.platform_retries) == (0, 1)
    assert job.reason == "The task was lost: node n1 has been silent for 1m."
    assert not pool.backend.tasks[rest].runs
    states = {task.id: task.state_name for task in await pool.tasks(job_id)}
    assert states == {lost: "Lost", rest: "Stopped"}


async def test_a_node_that_comes_back_in_time_finds_its_tasks_as_they_were(pool: Laboratory) -> None:
    job_id, first, second = await running_pair(pool)
    pool.backend.leave("n1")
    pass_silently(pool, LOST_AFTER_S - 1)
    pool.backend.come_back("n1")
    pass_silently(pool, LOST_AFTER_S)
    await pool.settled()
    assert (await pool.job(job_id)).state_name == "Running"
    for task_id in (first, second):
        pool.backend.end(task_id)
    await pool.becomes(job_id, "Succeeded")
    assert set(pool.backend.starts.values()) == {1}


async def test_each_silence_is_counted_by_itself(pool: Laboratory) -> None:
    job_id, *_ = await running_pair(pool)
    for _ in range(3):
        pool.backend.leave("n1")
        pass_silently(pool, LOST_AFTER_S / 2)
        pool.backend.come_back("n1")
        await pool.settled()
    assert (await pool.job(job_id)).state_name == "Running"


async def test_after_a_restart_the_grace_begins_anew(pool: Laboratory) -> None:
    job_id, *_ = await running_pair(pool)
    pool.backend.leave("n1")
    pool.backend.clock += LOST_AFTER_S - 1
    await pool.restart()
    pass_silently(pool, LOST_AFTER_S - 1)
    await pool.settled()
    assert (await pool.job(job_id)).state_name == "Running"
    pass_silently(pool, 1)
    await pool.becomes(job_id, "Queued")


async def test_a_node_that_has_not_answered_since_a_restart_loses_its_tasks(pool: Laboratory) -> None:
    job_id, *_ = await running_pair(pool)
    pool.backend.leave("n1")
    pool.backend.machines = [
        replace(node, state=NodeState.JOINING) if node.name == "n1" else node for node in pool.backend.machines
    ]
    await pool.restart()
    pass_silently(pool, LOST_AFTER_S)
    await pool.becomes(job_id, "Queued")


class Impatient(FakeBackend):
    """Keeps its settings, whatever the files say."""

    async def configure(self, settings: PhysicalCluster) -> None:
        return None


async def test_time_alone_gives_a_node_up(pool: Laboratory) -> None:
    await pool.close()
    pool.backend = Impatient(pool.backend.machines, settings=replace(pool.backend.settings, lost_after_s=0.05))
    await pool.open()
    job_id, *_ = await running_pair(pool)
    pool.backend.leave("n1")
    pool.backend.clock += 1.0
    await pool.becomes(job_id, "Queued")


async def test_a_launch_that_nobody_answered_is_lost_with_its_node(pool: Laboratory) -> None:
    pool.backend.requests_lost = 1
    job_id = await pool.submit(PAIR)
    await pool.settled()
    assert (await pool.job(job_id)).state_name == "Starting"
    (begun,) = pool.backend.of(job_id)
    missing = "n2" if node_of(pool, begun) == "n1" else "n1"
    pool.backend.leave(missing)
    pass_silently(pool, LOST_AFTER_S)
    await pool.becomes(job_id, "Queued")
    assert not pool.backend.tasks[begun].runs


async def test_a_kill_comes_to_an_end_although_a_node_is_gone(pool: Laboratory) -> None:
    job_id, gone, rest = await running_pair(pool)
    pool.backend.leave("n1")
    await commands.kill(pool.context, job_id, "amy")
    await pool.until(lambda: not pool.backend.tasks[rest].runs)
    assert (await pool.job(job_id)).state_name == "Stopping"
    pass_silently(pool, LOST_AFTER_S)
    await pool.becomes(job_id, "Cancelled")
    assert pool.backend.tasks[gone].runs
    pool.backend.come_back("n1")
    await pool.until(lambda: not pool.backend.tasks[gone].runs)
    assert pool.context.clusters["lab"].used("n1")[0] == 0


async def test_what_still_runs_on_a_node_that_was_given_up_is_stopped_when_it_is_back(pool: Laboratory) -> None:
    job_id, lost, _ = await running_pair(pool)
    pool.backend.leave("n1")
    pass_silently(pool, LOST_AFTER_S)
    await pool.becomes(job_id, "Queued")
    await pool.settled()
    assert pool.backend.tasks[lost].runs
    pool.backend.come_back("n1")
    await pool.until(lambda: not pool.backend.tasks[lost].runs)
    pool.pass_time(1.0)
    await pool.becomes(job_id, "Running", attempt=2)


async def test_the_log_of_a_lost_task_is_collected_when_its_node_is_back(pool: Laboratory) -> None:
    job_id, lost, _ = await running_pair(pool)
    pool.backend.prints(lost, "almost done\n")
    pool.backend.leave("n1")
    pass_silently(pool, LOST_AFTER_S)
    await pool.becomes(job_id, "Queued")
    await commands.kill(pool.context, job_id, "amy")
    assert {task.id: task.log for task in await pool.tasks(job_id)}[lost] is None
    pool.backend.come_back("n1")
    await pool.until(lambda: lost in pool.backend.settled_tasks)
    log = {task.id: task.log for task in await pool.tasks(job_id)}[lost]
    assert log is not None
    assert (pool.context.logs / log).read_bytes() == b"almost done\n"


async def test_the_log_of_a_lost_task_that_ended_alone_is_collected_too(pool: Laboratory) -> None:
    job_id, lost, _ = await running_pair(pool)
    pool.backend.leave("n1")
    pool.backend.end(lost)
    pass_silently(pool, LOST_AFTER_S)
    await pool.becomes(job_id, "Queued")
    pool.backend.come_back("n1")
    await pool.until(lambda: lost in pool.backend.settled_tasks)
    task = next(task for task in await pool.tasks(job_id, 1) if task.id == lost)
    assert (task.state_name, task.log is not None) == ("Lost", True)


async def test_a_task_that_turns_up_for_a_job_that_has_ended_is_stopped(pool: Laboratory) -> None:
    job_id, gone, _ = await running_pair(pool)
    pool.backend.leave("n1")
    await commands.kill(pool.context, job_id, "amy")
    pass_silently(pool, LOST_AFTER_S)
    await pool.becomes(job_id, "Cancelled")
    pool.backend.away.clear()
    assert pool.backend.listener is not None
    pool.backend.listener.task_observed("lab", pool.backend.tasks[gone].seen)
    await pool.until(lambda: not pool.backend.tasks[gone].runs)


async def test_one_silent_node_does_not_keep_others_from_being_looked_at(pool: Laboratory) -> None:
    job_id, first, second = await running_pair(pool)
    pool.backend.leave()
    pool.backend.end(second)
    pool.backend.come_back("n2")
    await pool.until(lambda: pool.context.open_jobs.get(job_id).tasks[second].has_ended)  # type: ignore[union-attr]
    assert (await pool.job(job_id)).state_name == "Running"
    assert pool.backend.tasks[first].seen.phase is Phase.RUNNING


async def test_tasks_on_a_node_that_is_no_longer_listed_are_lost_in_the_end(pool: Laboratory) -> None:
    job_id, *_ = await running_pair(pool)
    await pool.close()
    pool.backend.machines = [node for node in pool.backend.machines if node.name != "n1"]
    pool.backend.away = {"n1"}
    await pool.open()
    pass_silently(pool, LOST_AFTER_S)
    await pool.becomes(job_id, "Queued")


async def test_a_task_that_fails_while_another_node_of_its_gang_is_away_is_tried_again_at_no_cost(
    pool: Laboratory,
) -> None:
    job_id, _, rest = await running_pair(pool)
    pool.backend.leave("n1")
    pool.backend.end(rest, exit_code=1)
    pass_silently(pool, LOST_AFTER_S)
    job = await pool.becomes(job_id, "Queued")
    assert (job.retries, job.platform_retries) == (0, 1)
    assert "n1 was unreachable when pair-worker-1 failed" in job.reason


async def test_a_task_that_fails_while_all_nodes_answer_fails_its_job(pool: Laboratory) -> None:
    job_id, _, rest = await running_pair(pool)
    pool.backend.end(rest, exit_code=1)
    await pool.becomes(job_id, "Failed")
