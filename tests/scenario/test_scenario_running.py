"""From submission to the end: what is told, who is stopped, what is tried again and on whose account."""

import pytest

from muster.domain.completion import MAX_PLATFORM_RETRIES
from muster.domain.errors import BackendError, NotFound, Rejected
from muster.domain.jobs import Failed, Queued, Succeeded, Tally
from muster.engine.lifecycle.observing import receive
from muster.engine.requests.commands import kill
from muster.ports.backend import Observation, Phase
from tests.parts.building import a_ps_spec, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def test_a_job_runs_to_its_end_and_tells_every_step_once(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.0", "hello\n")
    lab.backend.end(f"{job_id}.1.worker.0")
    job = await lab.becomes(job_id, "Succeeded")
    assert await lab.told(job_id) == [
        "job.queued", "job.starting", "task.running", "job.running", "task.succeeded", "job.succeeded",
    ]  # fmt: skip
    assert (job.state, job.attempt, job.tally) == (Succeeded(lab.now), 1, Tally(1, 0, 0))
    assert (job.started_at, job.ended_at) == (lab.now, lab.now)
    [task] = await lab.tasks(job_id)
    assert (task.state_name, task.exit_code, task.name) == ("Succeeded", 0, "job-worker-0")
    assert task.log is not None
    assert (lab.context.logs / task.log).read_text() == "hello\n"
    assert lab.context.clusters["lab"].used("n1")[0] == 0
    assert len(lab.context.open_jobs) == 0


async def test_tasks_that_prepare_are_shown_preparing(lab: Laboratory) -> None:
    lab.backend.auto_start = False
    job_id = await lab.submit(a_spec())
    task_id = f"{job_id}.1.worker.0"
    await lab.until(lambda: task_id in lab.backend.tasks)
    lab.backend._change(task_id)
    await lab.settled()
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Preparing"]
    assert (await lab.job(job_id)).state_name == "Starting"
    lab.backend.begin(task_id)
    await lab.becomes(job_id, "Running")


async def test_a_gang_runs_only_when_all_of_it_does(lab: Laboratory) -> None:
    lab.backend.auto_start = False
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.until(lambda: len(lab.backend.tasks) == 2)
    lab.backend.begin(f"{job_id}.1.worker.0")
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Starting"
    lab.backend.begin(f"{job_id}.1.worker.1")
    await lab.becomes(job_id, "Running")


async def test_a_ps_job_ends_with_its_workers_and_its_servers_are_stopped(lab: Laboratory) -> None:
    job_id = await lab.submit(a_ps_spec(ps=2, workers=2))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Running"
    lab.backend.end(f"{job_id}.1.worker.1")
    job = await lab.becomes(job_id, "Succeeded")
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Stopped", "Stopped", "Succeeded", "Succeeded"]
    assert [stop[0] for stop in lab.backend.stops] == [f"{job_id}.1.ps.0", f"{job_id}.1.ps.1"]
    assert job.tally == Tally(2, 0, 0)


async def test_a_failure_stops_the_rest_and_the_job_says_why(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role(replicas=3), grace_s=7.0))
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.1", "ModuleNotFoundError: No module named 'paddel'\n")
    lab.backend.end(f"{job_id}.1.worker.1", exit_code=1)
    job = await lab.becomes(job_id, "Failed")
    assert isinstance(job.state, Failed)
    assert (job.state.fault.task, job.state.fault.exit_code) == ("job-worker-1", 1)
    assert "paddel" in job.state.fault.cause
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Stopped", "Failed", "Stopped"]
    assert sorted(lab.backend.stops) == [(f"{job_id}.1.worker.{index}", 7.0) for index in (0, 2)]


async def test_a_task_that_ends_well_while_it_is_stopped_has_ended_well(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=127)
    await lab.becomes(job_id, "Stopping")
    lab.backend.end(f"{job_id}.1.worker.1", exit_code=0)
    await lab.becomes(job_id, "Failed")
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Failed", "Succeeded"]


async def test_a_gang_failed_for_what_one_task_died_of_although_another_that_lost_it_was_reported_first(
    lab: Laboratory,
) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec(a_role(replicas=3)))
    await lab.becomes(job_id, "Running")
    lab.backend.prints(f"{job_id}.1.worker.2", "ConnectionResetError: [Errno 104] Connection reset by peer\n")
    lab.backend.end(f"{job_id}.1.worker.2", exit_code=1)
    await lab.becomes(job_id, "Stopping")
    lab.backend.end(f"{job_id}.1.worker.1", exit_code=1, disk_full=True)
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=143, signal=15, stopped=True)
    job = await lab.becomes(job_id, "Queued")
    assert (job.retries, job.platform_retries) == (0, 1)
    assert "disk" in job.reason
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Stopped", "Failed", "Failed"]


async def test_a_task_that_fails_after_its_job_was_killed_was_stopped(lab: Laboratory) -> None:
    lab.backend.auto_stop = False
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    await kill(lab.context, job_id, "ann")
    for index in (0, 1):
        lab.backend.end(f"{job_id}.1.worker.{index}", exit_code=1)
    await lab.becomes(job_id, "Cancelled")
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Stopped", "Stopped"]


async def test_a_users_failure_is_tried_again_after_a_pause_and_counted(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(retry_max=1))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=3)
    job = await lab.becomes(job_id, "Queued")
    assert job.state == Queued(lab.now, lab.now + 1.0)
    assert (job.retries, job.platform_retries, job.attempt) == (1, 0, 1)
    assert lab.context.clusters["lab"].used("n1")[0] == 0
    await lab.settled()
    assert lab.backend.of(job_id, 2) == []
    lab.pass_time(1.0)
    await lab.becomes(job_id, "Running", attempt=2)
    lab.backend.end(f"{job_id}.2.worker.0", exit_code=3)
    job = await lab.becomes(job_id, "Failed")
    assert (job.retries, job.attempt) == (1, 2)
    assert len(await lab.tasks(job_id)) == 2


async def test_a_lost_node_requeues_the_job_without_counting_a_retry(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    lab.backend.lose(f"{job_id}.1.worker.0")
    job = await lab.becomes(job_id, "Queued")
    assert (job.retries, job.platform_retries) == (0, 1)
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Lost", "Stopped"]
    lab.pass_time(1.0)
    await lab.becomes(job_id, "Running", attempt=2)


async def test_platform_faults_are_retried_with_longer_pauses_but_not_for_ever(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    pauses = []
    for attempt in range(1, MAX_PLATFORM_RETRIES + 1):
        await lab.becomes(job_id, "Running", attempt=attempt)
        lab.backend.lose(f"{job_id}.{attempt}.worker.0")
        job = await lab.becomes(job_id, "Queued", attempt=attempt)
        assert isinstance(job.state, Queued)
        pauses.append((job.state.not_before or 0.0) - lab.now)
        lab.pass_time(pauses[-1])
    await lab.becomes(job_id, "Running", attempt=MAX_PLATFORM_RETRIES + 1)
    lab.backend.lose(f"{job_id}.{MAX_PLATFORM_RETRIES + 1}.worker.0")
    await lab.becomes(job_id, "Failed")
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]


async def test_a_launch_that_the_node_refuses_for_good_fails_the_job(lab: Laboratory) -> None:
    lab.backend.refusals.append(Rejected("bad archive", reason="package"))
    job_id = await lab.submit(a_spec(retry_max=3))
    job = await lab.becomes(job_id, "Failed")
    assert isinstance(job.state, Failed)
    assert job.state.fault.code == "package"


async def test_a_launch_that_the_platform_could_not_do_is_tried_again(lab: Laboratory) -> None:
    lab.backend.refusals.append(BackendError("port taken", reason="port-in-use"))
    job_id = await lab.submit(a_spec())
    assert (await lab.becomes(job_id, "Queued")).platform_retries == 1


async def test_a_launch_on_a_node_that_is_not_there_any_more_is_tried_again(lab: Laboratory) -> None:
    lab.backend.refusals.append(NotFound("no node n1"))  # type: ignore[arg-type]
    job_id = await lab.submit(a_spec())
    assert (await lab.becomes(job_id, "Queued")).platform_retries == 1


async def test_ports_that_cannot_be_had_put_the_start_off(lab: Laboratory) -> None:
    lab.backend.port_errors = 2
    role = a_role()
    job_id = await lab.submit(a_spec(type(role)(role.name, 1, role.command, role.resources, ports=1)))
    await lab.settled()
    assert (await lab.job(job_id)).state_name == "Queued"
    assert lab.context.clusters["lab"].used("n1")[0] == 0
    lab.pass_time(1.0)
    await lab.becomes(job_id, "Running")
    [task] = await lab.tasks(job_id)
    assert len(task.placement.ports) == 1


async def test_a_time_limit_stops_the_attempt_and_is_not_tried_again(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(time_limit_s=0.05, retry_max=3))
    job = await lab.becomes(job_id, "Failed")
    assert isinstance(job.state, Failed)
    assert job.state.fault.code == "time-limit"
    assert [task.state_name for task in await lab.tasks(job_id)] == ["Stopped"]


async def test_a_log_that_cannot_be_collected_does_not_keep_the_job_from_ending(lab: Laboratory) -> None:
    lab.backend.log_error = OSError(28, "No space left on device")
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0")
    await lab.becomes(job_id, "Succeeded")
    assert [task.log for task in await lab.tasks(job_id)] == [None]


async def test_waiting_jobs_start_in_turn_as_places_become_free(lab: Laboratory) -> None:
    first = await lab.submit(a_spec(a_role(cpu=8), name="first"))
    second = await lab.submit(a_spec(a_role(cpu=8), name="second"))
    await lab.becomes(first, "Running")
    await lab.settled()
    reason = lab.context.clusters["lab"].reason(second)
    assert reason is not None
    assert reason.code == "no-free-cpu"
    lab.backend.end(f"{first}.1.worker.0")
    await lab.becomes(second, "Running")


async def test_a_stop_that_was_not_delivered_is_repeated(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role(replicas=2)))
    await lab.becomes(job_id, "Running")
    lab.backend.stop_errors = 1
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=127)
    await lab.becomes(job_id, "Failed")
    assert [stop[0] for stop in lab.backend.stops] == [f"{job_id}.1.worker.1"]


async def test_a_cycle_that_fails_does_not_end_scheduling(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = lab.context.clusters["lab"]
    cycle = type(cluster).cycle
    failed: list[float] = []

    def broken_once(state, now):  # type: ignore[no-untyped-def]
        if not failed:
            failed.append(now)
            raise RuntimeError("a mistake of ours")
        return cycle(state, now)

    first = await lab.submit(a_spec(a_role(cpu=8), name="first"))
    await lab.becomes(first, "Running")
    monkeypatch.setattr(type(cluster), "cycle", broken_once)
    second = await lab.submit(a_spec(name="second"))
    await lab.until(lambda: failed)
    lab.backend.end(f"{first}.1.worker.0")
    await lab.becomes(second, "Running")


async def test_a_launch_that_breaks_in_our_own_code_can_still_be_killed(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a mistake of ours")

    monkeypatch.setattr("muster.engine.lifecycle.launching.compose_gang", broken)
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Starting")
    await kill(lab.context, job_id, "amy")
    await lab.becomes(job_id, "Cancelled")
    assert lab.context.clusters["lab"].used("n1")[0] == 0


async def test_listeners_hear_what_is_committed_in_order_and_only_of_their_job(lab: Laboratory) -> None:
    hub = lab.context.hub
    with hub.subscribe() as everything:
        job_id = await lab.submit(a_spec())
        with hub.subscribe(job_id) as mine:
            await lab.becomes(job_id, "Running")
            other = await lab.submit(a_spec(name="other"))
            await lab.becomes(other, "Running")
            heard = [await mine.next(0.0) for _ in range(2)]
            assert [event.kind for event in heard if event] == ["task.running", "job.running"]
            assert await mine.next(0.0) is None
        seqs = []
        while (event := await everything.next(0.0)) is not None:
            seqs.append(event.seq)
    stored = [event.seq for event in await lab.events()]
    assert seqs == stored == sorted(set(stored))
    assert hub.last_seq == stored[-1]


async def test_a_gang_that_somebody_removed_in_the_engine_is_cancelled_and_not_tried_again(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(a_role("worker", 2), retry_max=3))
    await lab.becomes(job_id, "Running")
    removed = Observation(f"{job_id}.1.worker.0", Phase.RUNNING, cancelled="gang-1 was deleted in the engine")
    receive(lab.context, removed)
    receive(lab.context, Observation(f"{job_id}.1.worker.0", Phase.LOST))
    job = await lab.becomes(job_id, "Cancelled")
    assert (job.reason, job.attempt) == ("gang-1 was deleted in the engine", 1)
    assert {task.state_name for task in await lab.tasks(job_id)} == {"Stopped"}
