"""Nodes and tasks that report what they have no right to: the server believes only what it ordered and placed."""

import asyncio
from collections.abc import Sequence

import pytest

from muster.domain.tasks import Task, TaskFailed
from muster.ports.backend import Observation, Phase
from muster.ports.capabilities import TaskRef
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def first_task(lab: Laboratory, job_id: str) -> Task:
    """The task of the first attempt, once it has ended."""
    while True:
        task = (await lab.tasks(job_id))[0]
        if task.has_ended:
            return task
        await lab.settled()


async def test_a_stop_that_the_server_did_not_order_is_a_failure_with_its_cause(lab: Laboratory) -> None:
    """A task can write a stop record into its own folder; the agent that finds it kills the task and reports a stop."""
    job_id = await lab.submit(a_spec(a_role()))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=137, signal=9, stopped=True)
    task = await first_task(lab, job_id)
    assert isinstance(task.state, TaskFailed)
    assert task.state.fault.code == "killed"


async def test_a_task_that_never_started_and_was_not_stopped_by_order_has_failed(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role()))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=None, stopped=True)
    task = await first_task(lab, job_id)
    assert isinstance(task.state, TaskFailed)
    assert task.state.fault.code == "no-exit-code"


async def test_a_node_cannot_end_a_task_of_another_node(lab: Laboratory) -> None:
    lab.backend.machines.append(a_node("n2"))
    lab.backend.tell_nodes()
    job_id = await lab.submit(a_spec(a_role()))
    await lab.becomes(job_id, "Running")
    [task] = await lab.tasks(job_id)
    other = "n2" if task.placement.node == "n1" else "n1"
    assert lab.backend.listener is not None
    lab.backend.listener.task_observed("lab", Observation(task.id, Phase.ENDED, task.id, other, exit_code=0))
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running"
    lab.backend.listener.task_observed(
        "lab", Observation(task.id, Phase.ENDED, task.id, task.placement.node, exit_code=0)
    )
    await lab.becomes(job_id, "Succeeded")


async def test_a_cluster_cannot_end_a_task_of_another_cluster(lab: Laboratory) -> None:
    """Another Muster server, as a cluster of this one, may say what it likes, also of jobs that it was not given."""
    job_id = await lab.submit(a_spec(a_role()))
    await lab.becomes(job_id, "Running")
    [task] = await lab.tasks(job_id)
    assert lab.backend.listener is not None
    for phase in (Phase.ENDED, Phase.LOST, Phase.WAITING):
        lab.backend.listener.task_observed("elsewhere", Observation(task.id, phase, task.id, exit_code=0))
    await lab.settled()
    assert (await lab.tasks(job_id))[0].state_name == "Running"
    lab.backend.listener.task_observed("lab", Observation(task.id, Phase.ENDED, task.id, exit_code=0))
    await lab.becomes(job_id, "Succeeded")


async def test_a_flood_of_unknown_tasks_is_handled_a_few_at_a_time(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[str] = []

    async def never_answers(backend: FakeBackend, tasks: Sequence[TaskRef], grace_s: float) -> Sequence[str]:
        stops.extend(task.task_id for task in tasks)
        await asyncio.Event().wait()
        return ()

    monkeypatch.setattr(FakeBackend, "stop", never_answers)
    assert lab.backend.listener is not None
    for number in range(20_000):
        lab.backend.listener.task_observed("lab", Observation(f"unknown{number}.1.worker.0", Phase.RUNNING))
    job_id = await lab.submit(a_spec(a_role()))
    await lab.becomes(job_id, "Running")
    assert 0 < len(stops) <= 32
