"""Starting and closing: a backend waits for nobody who may be away, and lets go of all that it was doing."""

import asyncio

import pytest

from muster.ports.backend import Phase
from muster.ports.capabilities import TaskRef
from tests.contract.backends.harness import Harness
from tests.contract.backends.observing import Observer, becomes, opened

pytestmark = pytest.mark.anyio


async def test_a_backend_that_is_closed_at_once_leaves_nothing_running_here(harness: Harness) -> None:
    before = asyncio.all_tasks()
    backend = harness.backend()
    await backend.start(Observer())
    await backend.close()
    await becomes(lambda: asyncio.all_tasks() <= before)


async def test_a_backend_whose_nodes_are_away_starts_and_closes(harness: Harness) -> None:
    if harness.outage is None:
        pytest.skip("this backend cannot be made unreachable")
    before = asyncio.all_tasks()
    backend = harness.backend()
    harness.outage.begin(backend)
    await backend.start(Observer())
    await backend.close()
    await becomes(lambda: asyncio.all_tasks() <= before)


async def test_closing_ends_all_that_was_going_on(harness: Harness) -> None:
    before = asyncio.all_tasks()
    async with opened(harness) as site:
        ended, _ = await site.running(2)
        harness.tasks.finish(ended, 0)
        await site.observer.sees(ended, Phase.ENDED)
        if site.backend.capabilities.cleanup is not None:
            site.backend.capabilities.cleanup.settled(TaskRef.of(ended))
    await becomes(lambda: asyncio.all_tasks() <= before)
