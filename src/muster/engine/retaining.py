"""History is kept until the retention setting says otherwise."""

import asyncio

import structlog

from muster.engine.commands import delete
from muster.engine.context import Context

_log = structlog.get_logger("engine.retaining")
_EVERY_S = 3600.0
_BATCH = 200


async def run_retention(context: Context) -> None:
    """Once an hour, and only when somebody set a limit."""
    if context.keep_finished_s is None:
        return
    while True:
        removed = await retain_once(context)
        if removed:
            _log.info("removed jobs past their retention", count=removed)
        await asyncio.sleep(_EVERY_S)


async def retain_once(context: Context) -> int:
    assert context.keep_finished_s is not None
    count = 0
    while jobs := await context.store.ended_before(context.clock() - context.keep_finished_s, limit=_BATCH):
        for job in jobs:
            await delete(context, job, "retention")
            count += 1
    return count
