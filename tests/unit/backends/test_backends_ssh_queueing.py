"""Logins take limit, and one that waits for a dead machine does not hold up the others."""

import asyncio

import pytest

from muster.backends.logins.login_limit import LoginLimit

pytestmark = [pytest.mark.fast, pytest.mark.anyio]


async def test_no_more_than_allowed_log_in_at_once() -> None:
    limit, inside, most = LoginLimit(at_once=2, patience_s=60.0), 0, 0

    async def log_in() -> None:
        nonlocal inside, most
        async with limit.slot():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(log_in() for _ in range(10)))
    assert most == 2


async def test_a_login_that_takes_too_long_lets_others_go_on() -> None:
    limit, answered = LoginLimit(at_once=1, patience_s=0.0), asyncio.Event()

    async def log_in_to_dead_machine() -> None:
        async with limit.slot():
            await answered.wait()

    waiting = asyncio.create_task(log_in_to_dead_machine())
    async with asyncio.timeout(30):
        async with limit.slot():
            assert not waiting.done()
        answered.set()
        await waiting


async def test_a_failed_login_gives_its_place_back_once() -> None:
    limit = LoginLimit(at_once=1, patience_s=60.0)
    for _ in range(3):
        try:
            async with limit.slot():
                raise OSError
        except OSError:
            pass
    async with asyncio.timeout(30), limit.slot():
        second = asyncio.create_task(_take(limit))
        await asyncio.sleep(0)
        assert not second.done()
    await second


async def _take(limit: LoginLimit) -> None:
    async with limit.slot():
        pass
