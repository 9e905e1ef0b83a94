"""Measures the logs and outputs that are kept on the server's disk, and refuses new jobs of users who keep too much.

What a job leaves is measured soon after it has changed, all such jobs in one go, so that the end of a job costs nothing
more. Running jobs are never stopped for it.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import structlog

from muster.domain.errors import NotFound, TooLarge
from muster.domain.jobs import Job
from muster.engine.context import Context
from muster.engine.state.kept_data import JobData
from muster.lib.quantities import about_bytes

_log = structlog.get_logger("engine.disk_usage")
_EVERY_S = 2.0
_JOBS_NAMED = 3


async def run_disk_usage(context: Context) -> None:
    try:
        await measure_all(context)
    except Exception:
        _log.exception("the data of ended jobs was not measured")  # what ends from now on still is
    while True:
        await asyncio.sleep(_EVERY_S)
        try:
            await measure_changed(context)
        except Exception:
            _log.exception("data of jobs was not measured")


async def measure_all(context: Context) -> None:
    """Measure what earlier runs of the server have left."""
    for job_id in await asyncio.to_thread(_jobs_with_data, context):
        try:
            context.kept_data.changed(await context.store.job(job_id))
        except NotFound:
            continue  # its data is removed with an older database, or never
        await measure_changed(context)


async def measure_changed(context: Context) -> None:
    jobs = context.kept_data.to_measure()
    for job, data in await asyncio.to_thread(_measure, context, jobs) if jobs else ():
        context.kept_data.measured(job.id, data)


def require_room(context: Context, owner: str) -> None:
    """Raises TooLarge, which says what to delete."""
    kept, limits = context.kept_data, context.limits
    for what, used, most in (
        ("logs", kept.log_bytes(owner), limits.log_bytes_per_user),
        ("outputs", kept.output_bytes(owner), limits.output_bytes_per_user),
    ):
        if used > most:
            names = [f"{one.name} ({about_bytes(one.total_bytes)})" for one in kept.largest(owner, _JOBS_NAMED)]
            raise TooLarge(
                f"{owner} keeps {about_bytes(used)} of {what}, {about_bytes(most)} are allowed",
                hint=f"`muster delete JOB` removes the logs and outputs of ended jobs; the largest: {', '.join(names)}",
            )


def _measure(context: Context, jobs: Sequence[Job]) -> list[tuple[Job, JobData]]:
    return [
        (job, JobData(job.name, job.owner, _size(context.logs / job.id), _size(context.outputs / job.id)))
        for job in jobs
    ]


def _size(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(f"{path}/{name}").st_size
            except OSError:
                continue  # it was removed meanwhile
    return total


def _jobs_with_data(context: Context) -> list[str]:
    found: set[str] = set()
    for folder in (context.logs, context.outputs):
        try:
            found.update(path.name for path in folder.iterdir())
        except OSError:
            continue
    return sorted(found)
