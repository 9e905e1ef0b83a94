"""What tasks leave is brought back after their end, whatever that end was, and never keeps a job from ending."""

import hashlib

import pytest

from muster.domain.errors import BackendError, NotFound
from muster.engine.data import outputs
from muster.engine.requests import commands
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def ended(lab: Laboratory, *, exit_code: int = 0, replicas: int = 1, **fields: object) -> str:
    spec = a_spec(a_role(replicas=replicas), outputs=("*",), **fields)  # type: ignore[arg-type]
    job_id = await lab.submit(spec)
    await lab.becomes(job_id, "Running")
    for task_id in lab.backend.of(job_id):
        lab.backend.end(task_id, exit_code)
    return job_id


async def listed(lab: Laboratory, job_id: str, attempt: int | None = None) -> outputs.Listing:
    return await outputs.listing(lab.context, await lab.job(job_id), attempt)


async def test_outputs_are_there_after_the_end_and_then_the_node_may_clean_up(lab: Laboratory) -> None:
    lab.backend.outputs = {"model/w": b"weights"}
    job_id = await ended(lab)
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: lab.backend.settled_tasks)
    found = await listed(lab, job_id)
    (item,) = found.items
    assert found.complete
    assert (item.path, item.file.size) == ("model/w", 7)
    assert item.file.sha256 == hashlib.sha256(b"weights").hexdigest()
    assert item.place.read_bytes() == b"weights"
    await lab.settled()
    assert "job.outputs" in await lab.told(job_id)


@pytest.mark.parametrize("state", ["Failed", "Cancelled"])
async def test_outputs_come_back_of_jobs_that_failed_or_were_killed(lab: Laboratory, state: str) -> None:
    lab.backend.outputs = {"model/w": b"half"}
    if state == "Failed":
        job_id = await ended(lab, exit_code=1)
    else:
        job_id = await lab.submit(a_spec(outputs=("model/",)))
        await lab.becomes(job_id, "Running")
        await commands.kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, state)
    await lab.until(lambda: lab.backend.settled_tasks)
    assert [item.path for item in (await listed(lab, job_id)).items] == ["model/w"]


async def test_several_tasks_have_a_folder_each(lab: Laboratory) -> None:
    lab.backend.outputs = {"w": b"1"}
    job_id = await ended(lab, replicas=2)
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: len(lab.backend.settled_tasks) == 2)
    assert [item.path for item in (await listed(lab, job_id)).items] == ["worker-0/w", "worker-1/w"]
    assert (await outputs.find(lab.context, await lab.job(job_id), "worker-1/w")).task == "job-worker-1"
    with pytest.raises(NotFound):
        await outputs.find(lab.context, await lab.job(job_id), "../worker-1/w")


async def test_failure_to_collect_never_keeps_a_job_from_ending(lab: Laboratory) -> None:
    lab.backend.output_error = BackendError("the node is busy")
    job_id = await ended(lab)
    await lab.becomes(job_id, "Succeeded")
    record = lab.context.outputs / job_id / "1.worker-0.json"
    await lab.until(record.exists)
    found = await listed(lab, job_id)
    assert not found.complete
    assert "the node is busy" in found.problems[0]
    assert not lab.backend.settled_tasks


async def test_outputs_of_a_node_that_was_away_come_when_it_is_back(lab: Laboratory) -> None:
    lab.backend.outputs = {"w": b"1"}
    lab.backend.output_error = BackendError("gone", reason="connection-lost")
    job_id = await ended(lab)
    await lab.becomes(job_id, "Succeeded")
    await lab.until((lab.context.outputs / job_id / "1.worker-0.json").exists)
    lab.backend.output_error = None
    lab.backend.leave()
    lab.backend.come_back()
    await lab.until(lambda: lab.backend.settled_tasks)
    assert (await listed(lab, job_id)).complete


async def test_a_restart_between_end_and_collecting_loses_nothing(lab: Laboratory) -> None:
    lab.backend.outputs = {"w": b"1"}
    lab.backend.output_error = BackendError("gone", reason="connection-lost")
    job_id = await ended(lab)
    await lab.becomes(job_id, "Succeeded")
    lab.backend.output_error = None
    await lab.restart()
    await lab.until(lambda: lab.backend.settled_tasks)
    assert (await listed(lab, job_id)).complete


async def test_what_is_beyond_the_limit_is_left_out_and_said_so(lab: Laboratory) -> None:
    lab.context.max_output_bytes = 10
    lab.backend.outputs = {"a": b"x" * 8, "b": b"x" * 8}
    job_id = await ended(lab)
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: lab.backend.settled_tasks)
    found = await listed(lab, job_id)
    assert ([item.path for item in found.items], found.left_out) == (["a"], ("b",))


async def test_folders_that_are_too_deep_are_said(lab: Laboratory) -> None:
    lab.backend.outputs_too_deep = 3
    job_id = await ended(lab)
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: lab.backend.settled_tasks)
    found = await listed(lab, job_id)
    assert found.complete
    assert "3 folders are not collected: they are nested more than" in found.problems[0]
    await lab.settled()
    assert "job.outputs" in await lab.told(job_id)


async def test_outputs_that_are_lost_are_said_once_and_the_rest_is_kept(lab: Laboratory) -> None:
    lab.backend.outputs = {"a": b"kept"}
    lab.backend.outputs_problem = "b could not be sent: No space left on device"
    job_id = await ended(lab)
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: lab.backend.settled_tasks)
    found = await listed(lab, job_id)
    assert found.complete
    assert ([item.path for item in found.items], len(found.problems)) == (["a"], 1)
    assert "No space left on device" in found.problems[0]
    await lab.settled()
    assert "job.outputs" in await lab.told(job_id)


async def test_outputs_of_earlier_tries_make_way_for_the_last(lab: Laboratory) -> None:
    lab.context.max_output_bytes = 10
    lab.backend.outputs = {"a": b"x" * 8}
    job_id = await ended(lab, exit_code=1, retry_max=1)
    await lab.becomes(job_id, "Queued", attempt=1)
    await lab.until(lambda: lab.backend.settled_tasks)
    assert (await listed(lab, job_id, 1)).items
    lab.pass_time(60)
    await lab.becomes(job_id, "Running", attempt=2)
    lab.backend.end(lab.backend.of(job_id, 2)[0])
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: len(lab.backend.settled_tasks) == 2)
    assert (await listed(lab, job_id)).items
    assert not (await listed(lab, job_id, 1)).items


async def test_deleting_a_job_removes_its_outputs(lab: Laboratory) -> None:
    lab.backend.outputs = {"w": b"1"}
    job_id = await ended(lab)
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: lab.backend.settled_tasks)
    await commands.delete(lab.context, await lab.job(job_id), "amy")
    assert not (lab.context.outputs / job_id).exists()


async def test_jobs_without_outputs_ask_for_none(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.end(lab.backend.of(job_id)[0])
    await lab.becomes(job_id, "Succeeded")
    await lab.until(lambda: lab.backend.settled_tasks)
    found = await listed(lab, job_id)
    assert (found.items, found.complete) == ((), True)
    assert not lab.context.outputs.exists()
