"""Long requests do not occupy the event loop, and what is over a bound is refused with the time to try again."""

import asyncio
import threading

import httpx
import pytest
from fastapi import FastAPI

from muster.domain.errors import Invalid, Problem, TooMany, Unavailable
from muster.lib.work_pool import PoolFull, WorkPool
from muster.server import problems
from muster.wire.spec_problems import MAX_PROBLEMS

pytestmark = pytest.mark.fast


def test_a_pool_refuses_work_when_its_queue_is_full_and_takes_it_again_later() -> None:
    asyncio.run(_fill_a_pool())


async def _fill_a_pool() -> None:
    pool, go_on = WorkPool("test", threads=1, waiting=1), threading.Event()
    running = [asyncio.create_task(pool.run(go_on.wait, 60)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(PoolFull):
        await pool.run(int)
    go_on.set()
    assert await asyncio.gather(*running) == [True, True]
    assert await pool.run(int) == 0


def test_work_whose_caller_has_gone_still_counts_until_it_ends() -> None:
    asyncio.run(_leave_work())


async def _leave_work() -> None:
    pool, started, go_on = WorkPool("test", threads=1, waiting=0), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        go_on.wait(60)

    caller = asyncio.create_task(pool.run(work))
    await asyncio.to_thread(started.wait, 60)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    with pytest.raises(PoolFull):
        await pool.run(int)
    go_on.set()


@pytest.mark.parametrize(("error", "status"), [(TooMany("too many", retry_after_s=1.2), 429), (Unavailable("no"), 503)])
def test_a_refusal_for_now_says_when_to_try_again(error: Exception, status: int) -> None:
    answer = _answer(error)
    assert answer.status_code == status
    assert answer.headers["retry-after"] in ("1", "2")


def test_at_most_a_hundred_problems_are_answered() -> None:
    found = tuple(Problem(f"p{n}", "is wrong") for n in range(5_000))
    assert len(_answer(Invalid("wrong", problems=found)).json()["problems"]) == MAX_PROBLEMS


def _answer(error: Exception) -> httpx.Response:
    app = FastAPI()
    problems.install(app)

    @app.get("/")
    async def fails() -> None:
        raise error

    async def call() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
            return await client.get("/")

    return asyncio.run(call())
