"""A backend whose nodes or engine do not answer: nothing is claimed, nothing is lost, and asking again is safe."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from muster.domain.errors import Unreachable
from muster.ports.backend import Launched, Phase
from muster.ports.capabilities import TaskRef
from tests.contract.backends.observing import Site, answers, becomes, named

pytestmark = pytest.mark.anyio


async def test_a_launch_gets_no_answer_and_starts_once_when_it_is_repeated(site: Site) -> None:
    launch = await site.launch_of(2)
    async with away(site):
        try:
            answer = await site.backend.launch(launch)
        except Unreachable:
            answer = Launched()
        assert not answer.handles
        assert not answer.refused, "a refusal would be the end of the attempt"
    assert set((await site.backend.launch(launch)).handles) == {task.id for task in launch.gang.tasks}
    for task in launch.gang.tasks:
        await site.observer.sees(task, Phase.RUNNING)
        await becomes(lambda task=task: site.harness.tasks.starts(task))  # type: ignore[misc]
        assert site.harness.tasks.starts(task) == 1


async def test_what_does_not_answer_is_out_of_scope_until_it_is_back(site: Site) -> None:
    """Unless the task itself says that it runs, and somebody else than the engine passes that on."""
    (task,) = await site.running()
    async with away(site):
        answer = await site.backend.observe_all()
        found = named(answer, task)
        assert answer.scope.covers(task) is (found is not None)
        assert found is None or found.phase is Phase.RUNNING
    answer = await site.backend.observe_all()
    found = named(answer, task)
    assert found is not None
    assert (found.phase, found.handle, found.node) == (Phase.RUNNING, task.handle, task.placement.node)
    assert answer.scope.covers(task)
    assert Phase.LOST not in {one.phase for one in site.observer.seen[task.id]}


async def test_a_stop_that_is_not_delivered_says_so_and_can_be_repeated(site: Site) -> None:
    (task,) = await site.running()
    async with away(site):
        try:
            missed = await site.backend.stop([TaskRef.of(task)], 20.0)
        except Unreachable:
            missed = [task.id]
        assert list(missed) == [task.id]
    assert not await site.backend.stop([TaskRef.of(task)], 20.0)
    assert (await site.observer.sees(task, Phase.ENDED)).stopped


async def test_an_end_during_an_outage_is_observed_afterwards(site: Site) -> None:
    (task,) = await site.running()
    async with away(site):
        site.harness.tasks.finish(task, 3)
    found = named(await site.backend.observe_all(), task)
    assert found is not None
    if found.phase is Phase.RUNNING:  # it is about to end
        found = await site.observer.sees(task, Phase.ENDED)
    assert (found.phase, found.exit_code) == (Phase.ENDED, 3)


@asynccontextmanager
async def away(site: Site) -> AsyncIterator[None]:
    """Nobody answers inside, and everybody does after it."""
    outage = site.harness.outage
    if outage is None:
        pytest.skip("this backend cannot be made unreachable")
    outage.begin(site.backend)
    if site.backend.capabilities.engine is None:
        await site.observer.until(lambda: not answers(site.backend))
    yield
    outage.end(site.backend)
    await site.observer.until(lambda: answers(site.backend))
