"""Jobs that were made in the engine of a cluster itself: who may see them, and how they are found and listed.

Whoever may use the cluster sees them. On a server with private jobs only admins do, because nobody there is their
owner.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from muster.domain.errors import Conflict, Invalid
from muster.engine.cluster_access import visible_clusters
from muster.engine.context import Context
from muster.engine.requests.accounts import Principal
from muster.ports.foreign_jobs import ForeignJob
from muster.ports.store import JobFilter, Page

SEPARATOR = ":"
"""It stands between the parts of an id. The names of Muster's own jobs cannot contain it."""


@dataclass(frozen=True, slots=True)
class Found:
    cluster: str
    origin: str
    job: ForeignJob

    @property
    def id(self) -> str:
        return SEPARATOR.join((self.cluster, self.job.space, self.job.name))

    @property
    def position(self) -> tuple[float, str]:
        """Its place in lists, which are sorted like those of Muster's own jobs."""
        return self.job.created_at, self.id


def visible(context: Context, principal: Principal) -> Iterator[Found]:
    if context.has_private_jobs and not principal.is_admin:
        return
    for cluster in visible_clusters(context, principal.user):
        foreign = context.backends[cluster].capabilities.foreign_jobs
        if foreign is not None:
            yield from (Found(cluster, foreign.origin, job) for job in foreign.jobs())


def find(context: Context, principal: Principal, ref: str) -> Found | None:
    """The job with this id, if there is one that the caller may see."""
    if SEPARATOR not in ref:
        return None
    return next((one for one in visible(context, principal) if one.id == ref), None)


def named(context: Context, principal: Principal, name: str) -> list[str]:
    """The ids of those with this name, for hints."""
    return sorted(one.id for one in visible(context, principal) if one.job.name == name)


def refusal(found: Found) -> Conflict:
    made_with = found.job.made_with
    return Conflict(f"{found.id} was made with {made_with}: change it there", hint=found.job.change_with)


def unreadable(found: Found) -> Conflict:
    """The refusal to tell what Muster could only tell about its own jobs."""
    message = f"{found.id} was made with {found.job.made_with}: only its state and its explanation are shown here"
    return Conflict(message, hint=f"its logs: {found.job.read_with}")


def page(jobs: Iterable[Found], where: JobFilter, *, limit: int, cursor: str | None) -> Page[Found]:
    """Newest first. A cursor is the place of the last job of the page before, so that jobs which come and go in between
    move no other."""
    below = None if cursor is None else _position(cursor)
    matching = sorted((one for one in jobs if _matches(one, where)), key=lambda one: one.position, reverse=True)
    left = [one for one in matching if below is None or one.position < below]
    items = left[:limit]
    more = len(left) > limit
    return Page(items, f"{items[-1].position[0]!r} {items[-1].id}" if more else None)


def _matches(one: Found, where: JobFilter) -> bool:
    job = one.job
    text = (where.text or "").casefold()
    return (
        (not where.states or job.state in where.states)
        and where.owner in (None, job.space)
        and where.cluster in (None, one.cluster)
        and where.vc is None
        and where.name in (None, job.name)
        and all(job.labels.get(key) == value for key, value in where.labels)
        and (not text or text in one.id.casefold())
        and (where.created_after is None or job.created_at > where.created_after)
        and (where.created_before is None or job.created_at < where.created_before)
    )


def _position(cursor: str) -> tuple[float, str]:
    instant, _, job_id = cursor.partition(" ")
    try:
        created_at = float(instant)
    except ValueError:
        created_at = math.nan
    if not math.isfinite(created_at) or not job_id:
        raise Invalid("the cursor is not valid", hint="pass the nextCursor of the previous page, or no cursor")
    return created_at, job_id
