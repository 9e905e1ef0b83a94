"""Retention: what is removed as time passes.

Ended jobs go after `keep_finished_s`, if that is set. Their logs, outputs, packages and folders on nodes go after
`keep_data_s`, while the job itself, its spec and its events stay. Unfinished uploads and expired tokens always go.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import structlog

from muster.domain.errors import Conflict, MusterError, NotFound
from muster.domain.jobs import Job
from muster.engine.context import Context
from muster.engine.data import outputs
from muster.engine.requests.commands import delete
from muster.ports.capabilities import TaskRef
from muster.ports.store import Change

_log = structlog.get_logger("engine.retention")
_EVERY_S = 3600.0
_HELD_S = 10.0
_BATCH = 200
_DAY_S = 86400.0
UNFINISHED_UPLOAD_S = _DAY_S
EXPIRED_TOKEN_S = _DAY_S
"""How long an expired token is kept, so that its owner is told that it has expired."""


async def run_retention(context: Context) -> None:
    """Remove once an hour what is past its time. A server that is held after a restore removes nothing."""
    while True:
        if context.is_held:
            await asyncio.sleep(_HELD_S)
            continue
        for step in (_retain_jobs, expire_data, expire_uploads, purge_tokens):
            try:
                if removed := await step(context):
                    _log.info("removed what is past its retention", step=step.__name__.strip("_"), count=removed)
            except Exception:
                _log.exception("retention failed")  # the store may be unavailable; it is tried again in an hour
        await asyncio.sleep(_EVERY_S)


async def _retain_jobs(context: Context) -> int:
    return 0 if context.keep_finished_s is None else await retain_once(context)


async def retain_once(context: Context) -> int:
    assert context.keep_finished_s is not None
    count = 0
    while jobs := await context.store.ended_before(context.clock() - context.keep_finished_s, limit=_BATCH):
        for job in jobs:
            await delete(context, job, "retention")
            count += 1
    before = context.clock() - context.keep_finished_s
    await context.store.apply(Change(emptied_sweeps_before=before))
    await _remove_idle_packages(context, before, None)
    return count


async def expire_data(context: Context) -> int:
    """Remove logs, outputs, packages and folders on nodes of jobs that ended long ago. The jobs stay."""
    if context.keep_data_s is None:
        return 0
    before = context.clock() - context.keep_data_s
    count = 0
    for job_id in await asyncio.to_thread(_jobs_with_data, context):
        job = await _job(context, job_id)
        if job is None or job.ended_at is None or job.ended_at > before:
            continue  # an unknown job may be missing only because an older database was restored
        await _forget_tasks(context, job)
        await asyncio.to_thread(shutil.rmtree, context.logs / job_id, ignore_errors=True)
        await asyncio.to_thread(outputs.remove, context, job_id)
        context.kept_data.forget(job_id, job.owner)
        count += 1
    await _remove_idle_packages(context, before, before)
    return count


async def expire_uploads(context: Context) -> int:
    """Remove what is here of packages whose upload nobody continues."""
    before = context.clock() - UNFINISHED_UPLOAD_S
    old = [path for path in _files(context.packages / "uploads") if _changed_at(path) < before]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


async def purge_tokens(context: Context) -> int:
    before = context.clock() - EXPIRED_TOKEN_S
    tokens = [one for one in await context.store.tokens(None) if one.expires_at is not None and one.expires_at < before]
    for token in tokens:
        try:
            await context.store.apply(Change(removed_token=token.id))
        except (NotFound, Conflict):
            continue  # its owner has revoked it meanwhile
    return len(tokens)


def _jobs_with_data(context: Context) -> list[str]:
    return sorted({path.name for folder in (context.logs, context.outputs) for path in _files(folder)})


def _files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            yield from [Path(entry.path) for entry in found]
    except FileNotFoundError:
        return


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


async def _job(context: Context, job_id: str) -> Job | None:
    try:
        return await context.store.job(job_id)
    except NotFound:
        return None


async def _forget_tasks(context: Context, job: Job) -> None:
    backend = context.backends.get(job.cluster)
    if backend is None or (cleanup := backend.capabilities.cleanup) is None:
        return
    for task in await context.store.tasks(job.id):
        try:
            await cleanup.forget(TaskRef.of(task))
        except MusterError:
            continue  # the node is unreachable; the folder is removed when the node is cleaned


async def _remove_idle_packages(context: Context, before: float, ended_after: float | None) -> None:
    """Remove unused packages from the store first, and their files after a second check, so that a submission in
    between keeps its package. Jobs that ended before `ended_after` need their packages no longer."""
    old = [path for path in context.packages.glob("*.tar.gz") if _changed_at(path) < before]
    in_use = await context.store.packages_in_use(ended_after) if old else set()
    for path in old:
        digest = path.name.removesuffix(".tar.gz")
        if digest in in_use:
            continue
        await context.store.apply(Change(removed_package=digest))
        if digest not in await context.store.packages_in_use(ended_after):
            path.unlink(missing_ok=True)
