"""Pages of jobs by filter, newest first.

This is keyset pagination on (created_at, id): a cursor names the last job of a page, and the next page starts below it,
so every page costs the same and stays stable while jobs are added. Several states are queried one by one and merged,
because an index on state is in page order for one state only.
"""

import base64
import math
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, or_, select, tuple_, union_all
from sqlalchemy.sql.selectable import CompoundSelect

from muster.domain.errors import Invalid
from muster.domain.jobs import Job
from muster.ports.store import JobFilter, Page
from muster.stores.codec import job_of
from muster.stores.tables import job_labels, jobs

Position = tuple[float, str]


def page_of_jobs(connection: Connection, where: JobFilter, *, limit: int, cursor: str | None) -> Page[Job]:
    position = None if cursor is None else _position(cursor)
    rows = connection.execute(page_query(where, position, limit + 1)).all()
    items = [job_of(row) for row in rows[:limit]]
    more = len(rows) > limit and bool(items)
    return Page(items=items, next_cursor=_cursor(items[-1]) if more else None)


def page_query(where: JobFilter, below: Position | None, limit: int) -> Select[Any] | CompoundSelect[Any]:
    states = tuple(dict.fromkeys(where.states))
    if len(states) < 2:
        return _one_state(where, states, below, limit)
    parts = [select(_one_state(where, (state,), below, limit).subquery()) for state in states]
    merged = union_all(*parts).subquery()
    return select(merged).order_by(merged.c.created_at.desc(), merged.c.id.desc()).limit(limit)


def _one_state(where: JobFilter, states: tuple[str, ...], below: Position | None, limit: int) -> Select[Any]:
    created_at, job_id = jobs.c.created_at, jobs.c.id
    query = select(jobs).where(*_conditions(where), *(jobs.c.state == state for state in states))
    if where.labels:
        # The index of the first label is in page order. The other labels are looked up for each job that it finds.
        (key, value), *others = where.labels
        query = query.join(job_labels, job_labels.c.job_id == jobs.c.id)
        query = query.where(job_labels.c.key == key, job_labels.c.value == value, *map(_has_label, others))
        created_at, job_id = job_labels.c.created_at, job_labels.c.job_id
    if below is not None:
        query = query.where(tuple_(created_at, job_id) < tuple_(*below))
    if where.created_after is not None:
        query = query.where(created_at > where.created_after)
    if where.created_before is not None:
        query = query.where(created_at < where.created_before)
    return query.order_by(created_at.desc(), job_id.desc()).limit(limit)


def _conditions(where: JobFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if where.owner is not None:
        found.append(jobs.c.owner == where.owner)
    if where.cluster is not None:
        found.append(jobs.c.cluster == where.cluster)
    if where.vc is not None:
        found.append(jobs.c.vc == where.vc)
    if where.name is not None:
        found.append(jobs.c.name == where.name)
    if where.text:
        columns = (jobs.c.name, jobs.c.owner, jobs.c.id)
        found.append(or_(*(column.icontains(where.text, autoescape=True) for column in columns)))
    return found


def _has_label(label: tuple[str, str]) -> ColumnElement[bool]:
    other = job_labels.alias()
    return exists().where(and_(other.c.job_id == jobs.c.id, other.c.key == label[0], other.c.value == label[1]))


def _cursor(job: Job) -> str:
    return base64.urlsafe_b64encode(f"{job.created_at!r} {job.id}".encode()).decode().rstrip("=")


def _position(cursor: str) -> Position:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
        instant, job_id = text.split(" ", 1)
        created_at = float(instant)
    except ValueError:
        raise _bad_cursor() from None
    if not math.isfinite(created_at) or not job_id or "\0" in job_id:
        raise _bad_cursor()
    return created_at, job_id


def _bad_cursor() -> Invalid:
    return Invalid("the cursor is not valid", hint="pass the next_cursor of the previous page, or no cursor")
