import asyncio

import uvloop

from muster.operator.control.work_queue import WorkQueue

_KEY = ("ns", "job")


def test_a_job_may_be_due_at_once_more_than_once() -> None:
    """uvloop answers with another kind of handle when nothing is left to wait for."""

    async def due() -> tuple[str, str]:
        queue = WorkQueue()
        for seconds in (5.0, 0.0, -1.0, 0.0001, 5.0):
            queue.add_after(_KEY, seconds)
        return await asyncio.wait_for(queue.take(), 60)

    assert uvloop.run(due()) == _KEY
