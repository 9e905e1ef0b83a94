"""Usage over time is recorded while tasks run, and still there after their end and after a restart."""

import pytest

from muster.domain.tasks import Task
from muster.engine.data.usage_history import UsageHistory
from muster.ports.capabilities import NodeUsage, TaskUsage
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def running(lab: Laboratory, retries: int = 0) -> Task:
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, "A100", "A100")]
    lab.backend.tell_nodes()
    job_id = await lab.submit(a_spec(a_role(gpus=1), retry_max=retries))
    await lab.becomes(job_id, "Running")
    return (await lab.tasks(job_id))[0]


def measure(lab: Laboratory, task: Task, at: float, cpu_percent: float) -> None:
    (index,) = task.placement.devices
    gpus = [{"index": index, "load": 90.0, "memory_used_bytes": 5, "power_w": 200.0}, {"index": 99, "load": 1.0}]
    usage = TaskUsage(cpu_percent, 1000, 1)
    lab.backend.measured(task.placement.node, NodeUsage(at, {"gpus": gpus}, {task.id: usage}, at))


async def cpu(lab: Laboratory, task: Task) -> list[float | None]:
    series = await UsageHistory(lab.context).of_attempt(await lab.job(task.job_id), task.attempt)
    return [point.values[0] for point in series[task.id].points()] if task.id in series else []


async def test_samples_become_a_curve_with_the_tasks_own_gpus(lab: Laboratory) -> None:
    task, history = await running(lab), UsageHistory(lab.context)
    for at, percent in ((1.0, 10.0), (1.0, 10.0), (11.0, 20.0)):
        measure(lab, task, at, percent)
        await history.sample()
    assert await cpu(lab, task) == [10.0, 20.0]
    (series,) = (await history.of_attempt(await lab.job(task.job_id), 1)).values()
    assert series.gpus == task.placement.devices
    assert series.points()[0].values == (10.0, 1000, 90.0, 5, 200.0)


async def test_a_curve_is_there_after_the_end_and_after_a_restart(lab: Laboratory) -> None:
    task = await running(lab)
    measure(lab, task, 1.0, 10.0)
    await UsageHistory(lab.context).sample()
    lab.backend.end(task.id)
    await lab.becomes(task.job_id, "Succeeded")
    assert await cpu(lab, task) == [10.0]
    await UsageHistory(lab.context).sample()
    assert lab.context.recorded_usage == {}, "what has ended is not kept in memory"
    assert await cpu(lab, task) == [10.0]
    await lab.restart()
    assert await cpu(lab, task) == [10.0]


async def test_a_restart_in_the_middle_goes_on_with_the_curve(lab: Laboratory) -> None:
    task = await running(lab)
    measure(lab, task, 1.0, 10.0)
    await UsageHistory(lab.context).sample()
    await lab.restart()
    measure(lab, task, 11.0, 20.0)
    await UsageHistory(lab.context).sample()
    assert await cpu(lab, task) == [10.0, 20.0]


async def test_attempts_have_curves_of_their_own(lab: Laboratory) -> None:
    first = await running(lab, retries=1)
    measure(lab, first, 1.0, 10.0)
    await UsageHistory(lab.context).sample()
    lab.backend.end(first.id, exit_code=1)
    await lab.becomes(first.job_id, "Queued")
    lab.pass_time(600)
    await lab.becomes(first.job_id, "Running", attempt=2)
    (second,) = await lab.tasks(first.job_id, 2)
    measure(lab, second, 700.0, 30.0)
    await UsageHistory(lab.context).sample()
    assert (await cpu(lab, first), await cpu(lab, second)) == ([10.0], [30.0])


async def test_a_file_that_cannot_be_read_is_no_history(lab: Laboratory) -> None:
    task = await running(lab)
    file = lab.context.logs / task.job_id / "1.usage"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"nonsense")
    assert await cpu(lab, task) == []
