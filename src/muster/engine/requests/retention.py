"""Retention: deletes ended jobs after the configured time, and then packages that no job needs."""

import asyncio

import structlog

from muster.engine.context import Context
from muster.engine.requests.commands import delete
from muster.ports.store import Change

_log = structlog.get_logger("engine.retention")
_EVERY_S = 3600.0
_BATCH = 200


async def run_retention(context: Context) -> None:
    """Apply the retention setting once an hour, if there is one."""
    if context.keep_finished_s is None:
        return
    while True:
        try:
            removed = await retain_once(context)
            if removed:
                _log.info("removed jobs past their retention", count=removed)
        except Exception:
            _log.exception("retention failed")  # the store may be unavailable; it is tried again in an hour
        await asyncio.sleep(_EVERY_S)


async def retain_once(context: Context) -> int:
    assert context.keep_finished_s is not None
    count = 0
    while jobs := await context.store.ended_before(context.clock() - context.keep_finished_s, limit=_BATCH):
        for job in jobs:
            await delete(context, job, "retention")
            count += 1
    await _remove_idle_packages(context, context.clock() - context.keep_finished_s)
    return count


async def _remove_idle_packages(context: Context, before: float) -> None:
    """Remove unused packages from the store first, and their files after a second check, so that a submission in
    between keeps its package."""
    old = [path for path in context.packages.glob("*.tar.gz") if path.stat().st_mtime < before]
    in_use = await context.store.packages_in_use()
    for path in old:
        digest = path.name.removesuffix(".tar.gz")
        if digest in in_use:
            continue
        await context.store.apply(Change(removed_package=digest))
        if digest not in await context.store.packages_in_use():
            path.unlink(missing_ok=True)
