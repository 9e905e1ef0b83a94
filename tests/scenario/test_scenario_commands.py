"""What people ask for, in every state a job can be in."""

import asyncio

import pytest

from muster.domain.errors import Conflict, Invalid, NotFound, Unplaceable
from muster.domain.jobs import Cancelled, Held, Queued
from muster.domain.specs import Mount
from muster.engine.requests import commands
from muster.engine.requests.dry_running import dry_run
from muster.engine.requests.retention import retain_once
from muster.engine.requests.schedule import LookAhead
from muster.ports.backend import Rendered
from muster.ports.store import RequestKey
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def a_waiting_job(lab: Laboratory) -> str:
    """Queued behind one that takes the whole node."""
    await lab.becomes(await lab.submit(a_spec(a_role(cpu=8), name="in-the-way")), "Running")
    return await lab.submit(a_spec())


async def test_killing_a_queued_job_ends_it_at_once(lab: Laboratory) -> None:
    job_id = await a_waiting_job(lab)
    job = await commands.kill(lab.context, job_id, "amy")
    assert job.state == Cancelled(lab.now, "amy")
    assert await lab.job(job_id) == job
    assert lab.context.clusters["lab"].waiting == 0
    assert await lab.told(job_id) == ["job.queued", "job.cancelled"]
    assert lab.backend.of(job_id) == []


async def test_killing_a_held_job_ends_it_at_once(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(held=True))
    assert (await lab.job(job_id)).state == Held(lab.now, "amy")
    assert (await commands.kill(lab.context, job_id, "amy")).state_name == "Cancelled"


async def test_killing_a_starting_job_waits_for_the_launch_and_then_stops_it(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    launch = type(lab.backend).launch

    async def slow(backend, request):  # type: ignore[no-untyped-def]
        await gate.wait()
        return await launch(backend, request)

    monkeypatch.setattr(type(lab.backend), "launch", slow)
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Starting")
    await commands.kill(lab.context, job_id, "amy")
    assert (await lab.job(job_id)).state_name == "Stopping"
    assert lab.backend.stops == []
    gate.set()
    await lab.becomes(job_id, "Cancelled")
    assert len(lab.backend.stops) == 2
    assert not any(task.runs for task in lab.backend.tasks.values())


async def test_killing_a_running_job_stops_all_its_tasks_and_leaves_an_audit_event(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    job = await commands.kill(lab.context, job_id, "root", grace_s=0.5)
    assert (job.state_name, job.reason) == ("Stopping", "killed by root")
    await lab.until(lambda: len(lab.backend.stops) == 2)
    assert [grace for _, grace in lab.backend.stops] == [0.5, 0.5]
    for index in range(2):
        lab.backend.end(f"{job_id}.1.worker.{index}", exit_code=143, stopped=True)
    job = await lab.becomes(job_id, "Cancelled")
    assert job.state == Cancelled(lab.now, "root")
    audits = [(event.kind, event.actor) for event in await lab.events(job_id) if event.kind.startswith("audit.")]
    assert audits == [("audit.job.submit", "amy"), ("audit.job.kill", "root")]


async def test_killing_twice_stops_again_and_ends_once(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    await lab.until(lambda: len(lab.backend.stops) == 1)
    await commands.kill(lab.context, job_id, "amy", grace_s=0.0)
    await lab.until(lambda: len(lab.backend.stops) == 2)
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=137, signal=9, stopped=True)
    await lab.becomes(job_id, "Cancelled")
    assert (await lab.told(job_id)).count("job.cancelled") == 1


async def test_killing_a_job_that_stops_to_be_tried_again_ends_it_instead(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec(a_role(replicas=2), retry_max=5))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=3)
    await lab.becomes(job_id, "Stopping")
    await commands.kill(lab.context, job_id, "amy")
    lab.backend.end(f"{job_id}.1.worker.1", exit_code=143, stopped=True)
    await lab.becomes(job_id, "Cancelled")


@pytest.mark.parametrize("command", [commands.kill, commands.hold, commands.resume])
async def test_an_ended_job_cannot_be_changed(lab: Laboratory, command) -> None:  # type: ignore[no-untyped-def]
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Succeeded")
    with pytest.raises(Conflict, match="already ended"):
        await command(lab.context, job_id, "amy")
    with pytest.raises(NotFound):
        await command(lab.context, "nobody", "amy")


async def test_a_queued_job_is_held_and_resumed(lab: Laboratory) -> None:
    job_id = await a_waiting_job(lab)
    assert (await commands.hold(lab.context, job_id, "amy")).state == Held(lab.now, "amy")
    assert lab.context.clusters["lab"].waiting == 0
    assert (await commands.hold(lab.context, job_id, "amy")).state_name == "Held"
    assert (await commands.resume(lab.context, job_id, "amy")).state == Queued(lab.now)
    with pytest.raises(Conflict, match="is Queued, not Held"):
        await commands.resume(lab.context, job_id, "amy")
    assert await lab.told(job_id) == ["job.queued", "job.held", "job.queued"]


async def test_a_running_job_is_stopped_held_and_resumed_as_a_new_attempt(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await commands.hold(lab.context, job_id, "amy")
    job = await lab.becomes(job_id, "Held")
    assert (job.retries, job.platform_retries) == (0, 0)
    assert lab.context.clusters["lab"].used("n1")[0] == 0
    await commands.resume(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Running", attempt=2)


async def test_a_stopping_job_cannot_be_held(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await commands.kill(lab.context, job_id, "amy")
    with pytest.raises(Conflict, match="is Stopping and cannot be held"):
        await commands.hold(lab.context, job_id, "amy")


async def test_a_start_planned_before_a_hold_and_a_resume_takes_its_places_once(lab: Laboratory) -> None:
    blocker = await lab.submit(a_spec(a_role(cpu=8), name="in-the-way"))
    await lab.becomes(blocker, "Running")
    job_id = await lab.submit(a_spec(a_role(cpu=3)))
    entry = lab.context.open_jobs.get(job_id)
    assert entry is not None
    async with entry.lock:
        asking = [
            asyncio.create_task(commands.hold(lab.context, job_id, "amy")),
            asyncio.create_task(commands.resume(lab.context, job_id, "amy")),
        ]
        await asyncio.sleep(0)
        lab.backend.end(f"{blocker}.1.worker.0")
        await lab.becomes(blocker, "Succeeded")
        await lab.until(lambda: lab.context.clusters["lab"].used("n1")[0] == 3000)
    await asyncio.gather(*asking)
    await lab.becomes(job_id, "Running")
    await lab.settled()
    assert lab.context.clusters["lab"].used("n1")[0] == 3000
    assert lab.context.clusters["lab"].waiting == 0
    assert sum(lab.backend.starts.values()) == 2


async def test_retry_is_a_new_job_of_the_same_owner_asked_for_by_the_actor(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    with pytest.raises(Conflict, match="still Running"):
        await commands.retry(lab.context, await lab.job(job_id), "root")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=1)
    again, _ = await commands.retry(lab.context, await lab.becomes(job_id, "Failed"), "root")
    assert again.id != job_id
    assert (again.owner, again.name) == ("amy", "job")
    await lab.becomes(again.id, "Running")
    [audit] = [event for event in await lab.events(again.id) if event.kind == "audit.job.submit"]
    assert audit.actor == "root"


async def test_deleting_removes_history_logs_and_folders_but_not_the_audit(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    with pytest.raises(Conflict, match="still Running"):
        await commands.delete(lab.context, await lab.job(job_id), "amy")
    lab.backend.end(f"{job_id}.1.worker.0")
    await commands.delete(lab.context, await lab.becomes(job_id, "Succeeded"), "amy")
    with pytest.raises(NotFound):
        await lab.job(job_id)
    assert lab.backend.forgotten == [f"{job_id}.1.worker.0"]
    assert not (lab.context.logs / job_id).exists()
    assert [event.kind for event in await lab.events()] == ["audit.job.submit", "audit.job.delete"]


async def test_a_name_is_free_again_once_its_job_has_ended(lab: Laboratory) -> None:
    first = await lab.submit(a_spec(name="mine"))
    with pytest.raises(Conflict):
        await lab.submit(a_spec(name="mine"))
    await lab.becomes(first, "Running")
    assert lab.context.clusters["lab"].used("n1")[0] == 1000
    lab.backend.end(f"{first}.1.worker.0")
    await lab.becomes(first, "Succeeded")
    await lab.becomes(await lab.submit(a_spec(name="mine")), "Running")


async def test_a_repeated_request_key_answers_the_first_job(lab: Laboratory) -> None:
    key = RequestKey("amy", "k1")
    first, is_new = await commands.submit(lab.context, a_spec(), "amy", key)
    again, is_new_again = await commands.submit(lab.context, a_spec(), "amy", key)
    assert (again.id, is_new, is_new_again) == (first.id, True, False)
    await lab.becomes(first.id, "Running")
    lab.backend.end(f"{first.id}.1.worker.0")
    await lab.becomes(first.id, "Succeeded")
    after, is_new_after = await commands.submit(lab.context, a_spec(), "amy", key)
    assert (after.id, is_new_after) == (first.id, False)
    assert sum(lab.backend.starts.values()) == 1
    assert lab.context.clusters["lab"].used("n1")[0] == 0


async def test_bulk_is_all_or_none(lab: Laboratory) -> None:
    with pytest.raises(Conflict):
        await commands.submit_all(lab.context, [a_spec(name="a"), a_spec(name="b"), a_spec(name="a")], "amy")
    with pytest.raises(Invalid, match="1 job is wrong, so none was submitted"):
        await commands.submit_all(lab.context, [a_spec(name="a"), a_spec(a_role(cpu=99), name="b")], "amy")
    assert await lab.context.store.counts() == {}
    jobs, _ = await commands.submit_all(lab.context, [a_spec(name="a"), a_spec(name="b")], "amy")
    for job in jobs:
        await lab.becomes(job.id, "Running")


async def test_admission_refuses_what_cannot_be_with_its_problems(lab: Laboratory) -> None:
    with pytest.raises(Invalid) as refused:
        await lab.submit(a_spec(cluster="moon"))
    assert refused.value.problems[0].hint == "known clusters: lab"
    with pytest.raises(Invalid) as refused:
        await lab.submit(a_spec(mounts=(Mount("a", "/b"),), package="0" * 64))
    assert [problem.path for problem in refused.value.problems] == ["mounts", "package"]
    with pytest.raises(Unplaceable, match=r"the largest that could run: 8 CPU, 32\.0 GiB memory, no GPU"):
        await lab.submit(a_spec(a_role(gpus=1)))


async def test_a_dry_run_shows_the_requests_and_starts_nothing(lab: Laboratory) -> None:
    found = await dry_run(lab.context, LookAhead(), a_spec(a_role(replicas=2)), "amy")
    assert [one.task_id for one in found.requests] == [f"{found.job.id}.1.worker.{index}" for index in range(2)]
    assert found.requests[1].env["MUSTER_RANK"] == "1"
    assert found.rendered == Rendered()
    assert lab.backend.tasks == {}
    assert await lab.context.store.counts() == {}


async def test_retention_removes_what_ended_long_ago_and_nothing_else(lab: Laboratory) -> None:
    lab.context.keep_finished_s = 100.0
    old, new = await lab.submit(a_spec(name="old")), await lab.submit(a_spec(name="new"))
    for job_id in (old, new):
        await lab.becomes(job_id, "Running")
        lab.backend.end(f"{job_id}.1.worker.0")
        await lab.becomes(job_id, "Succeeded")
        lab.pass_time(60.0)
    assert await retain_once(lab.context) == 1
    with pytest.raises(NotFound):
        await lab.job(old)
    assert (await lab.job(new)).state_name == "Succeeded"
