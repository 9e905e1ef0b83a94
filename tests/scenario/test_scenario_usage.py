"""What tasks used is kept with their ends, summed up for jobs, and neither lost nor counted twice in a restart."""

import pytest

from muster.domain.used_resources import NOTHING_USED, UsedGpu, UsedResources
from muster.engine.requests.job_usage import usage_of, usage_so_far
from muster.engine.requests.queue import queue
from tests.parts.building import a_ps_spec, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
USED = UsedResources(10.0, 1.5, 1 << 30, (UsedGpu(0, 60.0, 40.0, 90.0, 1 << 20, 1 << 21, 500.0),))


async def test_a_jobs_sum_is_kept_over_a_restart(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", used=USED)
    await lab.becomes(job_id, "Succeeded")
    await lab.restart()
    job = await lab.job(job_id)
    assert job.used is not None
    assert (job.used.tasks, job.used.cpu_s, job.used.gpu_percent, job.used.energy_j) == (1, 10.0, 40.0, 500.0)
    (attempt,) = (await usage_of(lab.context, job)).attempts
    assert attempt.tasks[0].task.used == USED


async def test_an_end_that_came_while_nobody_watched_has_its_figures(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    await lab.close()
    lab.backend.end(f"{job_id}.1.worker.0", used=USED)
    await lab.open()
    await lab.becomes(job_id, "Succeeded")
    assert [task.used for task in await lab.tasks(job_id)] == [USED]


async def test_attempts_add_up_once_each(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec(retry_max=1))
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", exit_code=3, used=USED)
    await lab.becomes(job_id, "Queued")
    waiting = await lab.job(job_id)
    assert usage_so_far(lab.context, waiting).cpu_s == 10.0, "the tasks of the first attempt are counted once"
    lab.pass_time(600)
    await lab.becomes(job_id, "Running", attempt=2)
    await lab.restart()
    lab.backend.end(f"{job_id}.2.worker.0", used=USED)
    done = await lab.becomes(job_id, "Succeeded")
    assert done.used is not None
    assert (done.used.tasks, done.used.cpu_s, done.used.peak_memory_bytes) == (2, 20.0, 1 << 30)
    use = await usage_of(lab.context, done)
    assert ([attempt.attempt for attempt in use.attempts], use.used.cpu_s) == ([1, 2], 20.0)


async def test_of_a_gang_the_tasks_that_have_ended_count_at_once(lab: Laboratory) -> None:
    job_id = await lab.submit(a_ps_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0", used=USED)
    await lab.settled()
    assert usage_so_far(lab.context, await lab.job(job_id)).cpu_s == 10.0


async def test_tasks_without_figures_do_no_harm(lab: Laboratory) -> None:
    job_id = await lab.submit(a_spec())
    await lab.becomes(job_id, "Running")
    lab.backend.end(f"{job_id}.1.worker.0")
    assert (await lab.becomes(job_id, "Succeeded")).used == NOTHING_USED


async def test_the_queue_has_running_jobs_then_waiting_ones_then_held_ones(lab: Laboratory) -> None:
    held = await lab.submit(a_spec(name="held", held=True))
    running = await lab.submit(a_spec(a_role(cpu=8), name="running"))
    waiting = [await lab.submit(a_spec(a_role(cpu=8), name=f"waiting-{number}")) for number in range(2)]
    await lab.becomes(running, "Running")
    await lab.settled()
    found = [(one.job.id, one.position) for one in queue(lab.context, "lab")]
    assert found == [(running, None), (waiting[0], 1), (waiting[1], 2), (held, None)]
    assert queue(lab.context, "attic") == []
