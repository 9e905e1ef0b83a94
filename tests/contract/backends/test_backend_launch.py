"""Launching: what was asked for runs once, and what becomes of it is observed."""

import asyncio
from dataclasses import replace

import pytest

from muster.domain.errors import BackendError, Unreachable
from muster.domain.launch_requests import GangLaunch
from muster.ports.backend import Launched, Phase
from tests.contract.backends.observing import Site, becomes, named

pytestmark = pytest.mark.anyio


async def test_a_launched_gang_is_observed_running_with_handles_and_nodes(site: Site) -> None:
    launch = await site.launch_of(2)
    answer = await site.backend.launch(launch)
    assert set(answer.handles) == {task.id for task in launch.gang.tasks}
    assert not answer.refused
    names = {node.name for node in site.backend.nodes()}
    for task in launch.gang.tasks:
        seen = await site.observer.sees(task, Phase.RUNNING)
        assert seen.handle == answer.handles[task.id]
        assert seen.node in names
        assert seen.node == site.harness.node or not site.harness.node
        assert seen.started_at is not None
        assert (seen.ended_at, seen.exit_code, seen.signal) == (None, None, None)


async def test_launching_twice_starts_each_task_once(site: Site) -> None:
    launch = await site.launch_of(2)
    first = await site.backend.launch(launch)
    again = await site.backend.launch(launch)
    assert again.handles == first.handles
    for task in launch.gang.tasks:
        await site.observer.sees(task, Phase.RUNNING)
    assert (await site.backend.launch(launch)).handles == first.handles
    await _each_started_once(site, launch)


async def test_launching_at_the_same_time_starts_each_task_once(site: Site) -> None:
    launch = await site.launch_of(2)
    answers = await asyncio.gather(*(site.backend.launch(launch) for _ in range(3)))
    assert all(answer.handles == answers[0].handles for answer in answers)
    for task in launch.gang.tasks:
        await site.observer.sees(task, Phase.RUNNING)
    await _each_started_once(site, launch)


async def test_launching_an_ended_gang_again_starts_nothing(site: Site) -> None:
    launch = await site.launch_of()
    (task,) = launch.gang.tasks
    await site.backend.launch(launch)
    site.harness.tasks.finish(await site.observed(task), 3)
    await site.observer.sees(task, Phase.ENDED)
    await site.backend.launch(launch)
    found = named(await site.backend.observe_all(), task)
    assert found is not None
    assert (found.phase, found.exit_code) == (Phase.ENDED, 3)
    assert site.harness.tasks.starts(task) == 1


async def test_tasks_that_are_known_to_run_are_not_launched_again(site: Site) -> None:
    launch = await site.launch_of(2)
    await site.backend.launch(launch)
    first, second = [await site.observed(task) for task in launch.gang.tasks]
    rest = await site.backend.launch(replace(launch, started=frozenset({first.id})))
    assert second.id in rest.handles
    await _each_started_once(site, launch)


async def test_a_refused_launch_says_so_and_starts_nothing(site: Site) -> None:
    launch = site.harness.refused(await site.launch_of(2))
    try:
        answer = await site.backend.launch(launch)
    except BackendError as error:
        answer = Launched(refused={task.id: error for task in launch.gang.tasks})
    assert not answer.handles
    assert set(answer.refused) == {task.id for task in launch.gang.tasks}
    for refusal in answer.refused.values():
        assert not isinstance(refusal, Unreachable), "nobody would ever stop trying"
        assert refusal.message
        assert refusal.reason
    seen = await site.backend.observe_all()
    assert [named(seen, task) for task in launch.gang.tasks] == [None, None]


async def _each_started_once(site: Site, launch: GangLaunch) -> None:
    """A task that runs may not have written down yet that it was started."""
    for task in launch.gang.tasks:
        await becomes(lambda task=task: site.harness.tasks.starts(task))  # type: ignore[misc]
        assert site.harness.tasks.starts(task) == 1
