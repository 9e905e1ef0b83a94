"""`observe_all`, and what a new backend over the same state knows."""

import pytest

from muster.ports.backend import Phase
from muster.ports.capabilities import TaskRef
from tests.contract.backends.harness import Harness
from tests.contract.backends.observing import Site, named, opened

pytestmark = pytest.mark.anyio


async def test_observing_names_what_is_there_and_covers_it(site: Site) -> None:
    running, ended = await site.running(2)
    site.harness.tasks.finish(ended, 3)
    await site.observer.sees(ended, Phase.ENDED)
    answer = await site.backend.observe_all()
    for task, phase in ((running, Phase.RUNNING), (ended, Phase.ENDED)):
        found = named(answer, task)
        assert found is not None
        assert (found.phase, found.handle, found.node) == (phase, task.handle, task.placement.node)
        assert answer.scope.covers(task)


async def test_a_task_that_was_never_launched_is_in_scope_and_not_named(site: Site) -> None:
    await site.running()
    (never,) = site.gang().tasks
    answer = await site.backend.observe_all()
    assert answer.scope.covers(never)
    assert named(answer, never) is None


async def test_one_node_is_observed_by_its_name(site: Site) -> None:
    (task,) = await site.running()
    answer = await site.backend.observe_all(task.placement.node)
    assert named(answer, task) is not None
    assert answer.scope.covers(task)


async def test_every_task_is_named_once(site: Site) -> None:
    tasks = await site.running(3)
    names = [one.task_id for one in (await site.backend.observe_all()).observations]
    assert sorted(names) == sorted(task.id for task in tasks)


async def test_tasks_outlive_the_backend_and_the_next_one_adopts_them(harness: Harness) -> None:
    async with opened(harness) as before:
        (task,) = await before.running()
    async with opened(harness) as after:
        answer = await after.backend.observe_all()
        found = named(answer, task)
        assert found is not None
        assert (found.phase, found.handle, found.node) == (Phase.RUNNING, task.handle, task.placement.node)
        assert answer.scope.covers(task)
        harness.tasks.finish(task, 3)
        assert (await after.observer.sees(task, Phase.ENDED)).exit_code == 3
    assert harness.tasks.starts(task) == 1


async def test_an_end_that_nobody_watched_is_observed_by_the_next_backend(harness: Harness) -> None:
    async with opened(harness) as before:
        (task,) = await before.running()
    harness.tasks.finish(task, 3)
    async with opened(harness) as after:
        found = named(await after.backend.observe_all(), task)
        assert found is not None
        if found.phase is Phase.RUNNING:  # it is about to end
            found = await after.observer.sees(task, Phase.ENDED)
        assert (found.phase, found.exit_code, found.stopped) == (Phase.ENDED, 3, False)


async def test_the_next_backend_launches_what_runs_already_without_starting_it_again(harness: Harness) -> None:
    async with opened(harness) as before:
        launch = await before.launch_of(2)
        first = await before.backend.launch(launch)
        tasks = [await before.observed(task) for task in launch.gang.tasks]
    async with opened(harness) as after:
        again = await after.backend.launch(launch)
        assert again.handles == first.handles
        for task in tasks:
            harness.tasks.finish(task, 0)
            assert (await after.observer.sees(task, Phase.ENDED)).exit_code == 0
            assert harness.tasks.starts(task) == 1


async def test_the_next_backend_stops_what_the_one_before_it_launched(harness: Harness) -> None:
    async with opened(harness) as before:
        (task,) = await before.running()
    async with opened(harness) as after:
        assert not await after.backend.stop([TaskRef.of(task)], 20.0)
        assert (await after.observer.sees(task, Phase.ENDED)).stopped
