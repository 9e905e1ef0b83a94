"""Ends: how a task ended by itself, or because it was stopped."""

import signal

import pytest

from muster.ports.backend import Observation, Phase
from muster.ports.capabilities import TaskRef
from tests.contract.backends.observing import Site, named

pytestmark = pytest.mark.anyio
GRACE_S = 20.0


@pytest.mark.parametrize("exit_code", [0, 3])
async def test_an_end_is_observed_with_its_exit_code(site: Site, exit_code: int) -> None:
    (task,) = await site.running()
    site.harness.tasks.finish(task, exit_code)
    seen = await site.observer.sees(task, Phase.ENDED)
    assert (seen.exit_code, seen.signal, seen.stopped, seen.error_code) == (exit_code, None, False, "")
    assert seen.started_at is not None
    assert seen.ended_at is not None
    assert seen.ended_at >= seen.started_at


async def test_a_signal_is_observed_with_its_number(site: Site) -> None:
    (task,) = await site.running()
    site.harness.tasks.kill(task, signal.SIGKILL)
    seen = await site.observer.sees(task, Phase.ENDED)
    assert (seen.signal, seen.stopped) == (signal.SIGKILL, False)
    assert seen.exit_code in (None, 128 + signal.SIGKILL)


async def test_the_end_of_one_task_leaves_the_others_running(site: Site) -> None:
    first, second = await site.running(2)
    site.harness.tasks.finish(first, 1)
    await site.observer.sees(first, Phase.ENDED)
    found = named(await site.backend.observe_all(), second)
    assert found is not None
    assert found.phase is Phase.RUNNING


async def test_a_stop_ends_a_task_and_is_observed_as_stopped(site: Site) -> None:
    first, second = await site.running(2)
    assert not await site.backend.stop([TaskRef.of(first)], GRACE_S)
    seen = await site.observer.sees(first, Phase.ENDED)
    assert seen.stopped
    found = named(await site.backend.observe_all(), second)
    assert found is not None
    assert found.phase is Phase.RUNNING


async def test_a_stop_without_grace_ends_a_task_at_once(site: Site) -> None:
    (task,) = await site.running()
    assert not await site.backend.stop([TaskRef.of(task)], 0.0)
    assert (await site.observer.sees(task, Phase.ENDED)).stopped


async def test_stopping_twice_is_harmless(site: Site) -> None:
    (task,) = await site.running()
    for _ in range(2):
        assert not await site.backend.stop([TaskRef.of(task)], GRACE_S)
    assert (await site.observer.sees(task, Phase.ENDED)).stopped


async def test_stopping_an_unknown_task_is_observed_as_ended_and_stopped(site: Site) -> None:
    (task,) = site.gang().tasks
    assert not await site.backend.stop([TaskRef.of(task)], GRACE_S)
    seen = await site.observer.sees(task, Phase.ENDED)
    assert seen.stopped
    assert named(await site.backend.observe_all(), task) is None


async def test_stopping_an_ended_task_leaves_its_end_as_it_was(site: Site) -> None:
    (task,) = await site.running()
    site.harness.tasks.finish(task, 3)
    seen = await site.observer.sees(task, Phase.ENDED)
    assert not await site.backend.stop([TaskRef.of(task)], GRACE_S)
    found = named(await site.backend.observe_all(), task)
    assert found is not None
    assert _end(found) == _end(seen) == (3, None, False)


async def test_a_task_is_stopped_together_with_others_of_which_one_is_unknown(site: Site) -> None:
    (known,) = await site.running()
    (unknown,) = site.gang().tasks
    assert not await site.backend.stop([TaskRef.of(unknown), TaskRef.of(known)], GRACE_S)
    for task in (known, unknown):
        assert (await site.observer.sees(task, Phase.ENDED)).stopped


def _end(observation: Observation) -> tuple[int | None, int | None, bool]:
    return observation.exit_code, observation.signal, observation.stopped
