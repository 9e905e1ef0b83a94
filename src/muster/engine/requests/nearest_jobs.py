"""Finds the job that somebody meant who misspelt its name, among the newest that they may see."""

from muster.engine.context import Context
from muster.engine.requests.accounts import Principal
from muster.lib.nearest import nearest
from muster.ports.store import JobFilter

_NEWEST = 200
"""How many jobs are compared. Somebody who misspells a name has seldom just read an old one."""


async def nearest_job(context: Context, principal: Principal, name: str) -> str | None:
    """One of the caller's own jobs if there is such a name among them, else one of anybody's."""
    own = await _nearest(context, JobFilter(owner=principal.name), name)
    if own is not None or (context.has_private_jobs and not principal.is_admin):
        return own
    return await _nearest(context, JobFilter(), name)


async def _nearest(context: Context, where: JobFilter, name: str) -> str | None:
    page = await context.store.jobs(where, limit=_NEWEST)
    return nearest(name, [job.name for job in page.items])
