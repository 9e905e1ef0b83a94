"""When a job ended whose end the server learns of later, from nodes whose clocks may be wrong."""

import pytest

from muster.engine.requests.commands import kill
from muster.ports.backend import Observation, Phase
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def test_a_job_that_ended_while_no_server_ran_ended_with_its_last_task(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    began = (await lab.becomes(job_id, "Running")).started_at
    await lab.close()
    lab.pass_time(60)
    lab.backend.end(f"{job_id}.1.worker.1")
    lab.pass_time(40)
    lab.backend.end(f"{job_id}.1.worker.0")
    lab.pass_time(3600)
    await lab.open()
    job = await lab.becomes(job_id, "Succeeded")
    assert began is not None
    assert (job.ended_at, job.run_time_s) == (began + 100, 100)
    assert sorted(task.ended_at or 0.0 for task in await lab.tasks(job_id)) == [began + 60, began + 100]


async def test_a_job_that_failed_while_no_server_ran_failed_with_its_last_task(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    began = (await lab.becomes(job_id, "Running")).started_at
    await lab.close()
    lab.pass_time(60)
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=5)
    lab.pass_time(3600)
    await lab.open()
    job = await lab.becomes(job_id, "Failed")
    assert began is not None
    assert job.ended_at == began + 60


async def test_a_job_that_somebody_removed_from_its_engine_meanwhile_ended_then(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    began = (await lab.becomes(job_id, "Running")).started_at
    await lab.close()
    lab.pass_time(60)
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=None, cancelled="its job 8 was cancelled in Slurm")
    lab.pass_time(3600)
    await lab.open()
    job = await lab.becomes(job_id, "Cancelled")
    assert began is not None
    assert job.ended_at == began + 60


async def test_a_job_with_a_task_whose_end_nobody_recorded_ends_when_that_is_known(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    await lab.close()
    lab.pass_time(60)
    lab.backend.end(f"{job_id}.1.worker.0")
    lab.backend.end(f"{job_id}.1.worker.1")
    lab.backend.tasks[f"{job_id}.1.worker.1"].seen = Observation(
        f"{job_id}.1.worker.1", Phase.LOST, f"{job_id}.1.worker.1", "n1", cancelled="gang-1 was deleted there"
    )
    lab.pass_time(3600)
    await lab.open()
    job = await lab.becomes(job_id, "Cancelled")
    assert job.ended_at == lab.now


async def test_a_job_that_is_killed_ends_when_its_tasks_have_stopped(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.pass_time(10)
    await kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Stopping")
    lab.pass_time(5)
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=143, stopped=True)
    job = await lab.becomes(job_id, "Cancelled")
    assert job.ended_at == lab.now


@pytest.mark.parametrize("ahead_s", [-86_400.0, 86_400.0])
async def test_a_job_neither_ends_before_it_began_nor_after_now_whatever_its_node_says(
    lab: Laboratory, ahead_s: float
) -> None:
    lab.backend.auto_start = False
    job_id = await lab.submit(a_spec())
    task_id = f"{job_id}.1.worker.0"
    await lab.until(lambda: task_id in lab.backend.tasks)
    allocated_at = lab.now
    lab.pass_time(5)
    lab.backend._change(task_id, phase=Phase.RUNNING, started_at=lab.now + ahead_s)
    running = await lab.becomes(job_id, "Running")
    began_at = allocated_at if ahead_s < 0 else lab.now
    assert running.started_at == began_at
    lab.pass_time(60)
    lab.backend._change(task_id, phase=Phase.ENDED, exit_code=0, ended_at=lab.now + ahead_s)
    job = await lab.becomes(job_id, "Succeeded")
    [task] = await lab.tasks(job_id)
    assert (task.started_at, task.ended_at) == (began_at, began_at if ahead_s < 0 else lab.now)
    assert (job.started_at, job.ended_at) == (task.started_at, task.ended_at)
