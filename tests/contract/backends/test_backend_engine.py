"""The capability `engine`: a backend whose engine places whole gangs by itself."""

import asyncio

import pytest

from muster.domain.pools import PoolCapacity
from muster.ports.backend import Observation, Phase
from muster.ports.capabilities import EngineQueue, TaskRef
from tests.contract.backends.harness import QueueControl
from tests.contract.backends.observing import DEADLINE_S, LOOK_EVERY_S, Site

pytestmark = pytest.mark.anyio


async def test_the_pool_has_room_within_its_total(site: Site) -> None:
    engine, queue = _engine(site)
    assert engine.poll_s > 0
    empty = engine.pool()
    queue.fill()
    async with asyncio.timeout(DEADLINE_S):
        while engine.pool() == empty:
            await engine.look(0.0)  # an engine without tasks may not be asked otherwise
            await asyncio.sleep(LOOK_EVERY_S)
    for pool in (empty, engine.pool()):
        assert pool is not None
        assert _fits(pool.available, pool.total)
        assert _fits(pool.largest_node, pool.total)


async def test_a_gang_that_waits_has_no_node_until_the_engine_gives_it_one(site: Site) -> None:
    _, queue = _engine(site)
    queue.fill()
    launch = await site.launch_of(2)
    assert all(not task.placement.node for task in launch.gang.tasks)
    await site.backend.launch(launch)
    for task in launch.gang.tasks:
        await site.observer.sees(task, Phase.WAITING)
    queue.free()
    for task in launch.gang.tasks:
        assert (await site.observer.sees(task, Phase.RUNNING)).node
        waiting = _before_running(site.observer.seen[task.id])
        assert waiting
        assert all((one.phase, one.node, one.started_at) == (Phase.WAITING, None, None) for one in waiting)
        assert all(one.wait_reason for one in waiting), "an engine says why"


async def test_a_waiting_gang_is_stopped_before_it_starts(site: Site) -> None:
    _, queue = _engine(site)
    queue.fill()
    launch = await site.launch_of()
    (task,) = launch.gang.tasks
    await site.backend.launch(launch)
    await site.observer.sees(task, Phase.WAITING)
    assert not await site.backend.stop([TaskRef.of(task)], 20.0)
    assert (await site.observer.sees(task, Phase.ENDED)).stopped
    queue.free()
    assert site.harness.tasks.starts(task) == 0


async def test_an_agent_never_lets_a_task_wait(site: Site) -> None:
    if site.backend.capabilities.engine is not None:
        pytest.skip("its engine has a queue")
    assert site.harness.queue is None
    (task,) = await site.running()
    assert Phase.WAITING not in {one.phase for one in site.observer.seen[task.id]}


def _engine(site: Site) -> tuple[EngineQueue, QueueControl]:
    engine, queue = site.backend.capabilities.engine, site.harness.queue
    if engine is None:
        pytest.skip("Muster places the tasks of this backend")
    assert queue is not None, "the harness of an engine fills its queue"
    return engine, queue


def _fits(part: PoolCapacity, whole: PoolCapacity) -> bool:
    return (
        0 <= part.cpu_m <= whole.cpu_m
        and 0 <= part.memory_bytes <= whole.memory_bytes
        and all(0 <= count <= whole.gpus.get(model, 0) for model, count in part.gpus.items())
    )


def _before_running(seen: list[Observation]) -> list[Observation]:
    return seen[: next(place for place, one in enumerate(seen) if one.phase is Phase.RUNNING)]
