"""A success that is learnt late stands: what the workers completed before the ps's host went is not trained again."""

import pytest

from muster.domain.specs import Completion
from tests.parts.building import a_node, a_role, a_spec
from tests.parts.fake_backend import FakeBackend
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
PS, WORKERS = "n1", "n2"


async def started(lab: Laboratory) -> str:
    """A ps on one node and two workers on another."""
    lab.backend.machines[:] = [a_node(PS, cpu=4), a_node(WORKERS, cpu=2)]
    lab.backend.tell_nodes()
    worker = a_role("worker", 2, completion=Completion(1, 2))
    job_id = await lab.submit(a_spec(a_role("ps", 1, cpu=4), worker))
    await lab.becomes(job_id, "Running")
    assert lab.backend.tasks[f"{job_id}.1.ps.0"].request.node == PS
    assert {lab.backend.tasks[f"{job_id}.1.worker.{index}"].request.node for index in (0, 1)} == {WORKERS}
    return job_id


def finish_workers(backend: FakeBackend, job_id: str) -> None:
    for index in range(2):
        backend.end(f"{job_id}.1.worker.{index}")


async def test_workers_that_finished_while_the_server_was_away_before_the_host_of_the_ps_rebooted(
    lab: Laboratory,
) -> None:
    job_id = await started(lab)
    await lab.close()
    finish_workers(lab.backend, job_id)
    del lab.backend.tasks[f"{job_id}.1.ps.0"]
    await lab.open()
    assert (await lab.becomes(job_id, "Succeeded")).attempt == 1


async def test_the_host_of_the_ps_answers_first_after_a_restart(lab: Laboratory) -> None:
    job_id = await started(lab)
    await lab.close()
    finish_workers(lab.backend, job_id)
    del lab.backend.tasks[f"{job_id}.1.ps.0"]
    lab.backend.leave(WORKERS)
    await lab.open()
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running", "the workers' node has not answered yet"
    lab.backend.come_back(WORKERS)
    assert (await lab.becomes(job_id, "Succeeded")).attempt == 1


async def test_workers_that_finished_behind_a_cut_link_before_the_host_of_the_ps_rebooted(lab: Laboratory) -> None:
    job_id = await started(lab)
    lab.backend.leave(WORKERS)
    finish_workers(lab.backend, job_id)
    lab.backend.leave(PS)
    del lab.backend.tasks[f"{job_id}.1.ps.0"]
    lab.backend.come_back(PS)
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running", "nobody knows yet what the workers did"
    lab.backend.come_back(WORKERS)
    assert (await lab.becomes(job_id, "Succeeded")).attempt == 1
    assert set(lab.backend.starts.values()) == {1}


async def test_workers_that_still_run_without_their_ps_are_tried_again_once_their_node_answers(lab: Laboratory) -> None:
    job_id = await started(lab)
    lab.backend.leave(WORKERS)
    lab.backend.leave(PS)
    del lab.backend.tasks[f"{job_id}.1.ps.0"]
    lab.backend.come_back(PS)
    await lab.settled()
    lab.backend.come_back(WORKERS)
    assert (await lab.becomes(job_id, "Queued")).platform_retries == 1


async def test_a_ps_that_failed_by_itself_before_the_workers_ended_is_a_failure(lab: Laboratory) -> None:
    job_id = await started(lab)
    await lab.close()
    lab.backend.end(f"{job_id}.1.ps.0", exit_code=1)
    lab.backend.clock += 5.0
    finish_workers(lab.backend, job_id)
    await lab.open()
    await lab.becomes(job_id, "Failed")
