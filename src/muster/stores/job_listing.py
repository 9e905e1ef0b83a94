"""Pages of jobs by filter, newest first or in another order.

This is keyset pagination: a cursor names the last job of a page, and the next page starts behind it, so every page
costs the same and stays stable while jobs are added. Newest first, several states are queried one by one and merged,
because an index on state is in page order for one state only. In another order, a page comes from that order's own
index, or is sorted from the ids of the jobs that match.
"""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Select,
    and_,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.sql.selectable import CompoundSelect

from muster.domain.errors import Invalid
from muster.domain.experiments.experiments import EXPERIMENT_LABEL
from muster.domain.job_notes import DELETED, NoteKind
from muster.domain.jobs import ELSEWHERE, Job
from muster.ports.store import NEWEST_FIRST, JobFilter, JobOrder, JobSort, Members, Page
from muster.stores.codec import job_of
from muster.stores.job_cursors import Position, cursor_of, position_of
from muster.stores.tables import experiments, job_labels, job_notes, jobs

SORT_COLUMNS: dict[JobSort, Column[Any]] = {
    JobSort.CREATED: jobs.c.created_at,
    JobSort.STARTED: jobs.c.sort_started,
    JobSort.ENDED: jobs.c.sort_ended,
    JobSort.NAME: jobs.c.name,
    JobSort.OWNER: jobs.c.owner,
    JobSort.CLUSTER: jobs.c.cluster,
    JobSort.VC: jobs.c.vc,
    JobSort.STATE: jobs.c.state,
    JobSort.PRIORITY: jobs.c.sort_priority,
    JobSort.GPUS: jobs.c.sort_gpu_m,
}


def page_of_jobs(
    connection: Connection, where: JobFilter, order: JobOrder = NEWEST_FIRST, *, limit: int, cursor: str | None
) -> Page[Job]:
    position = None if cursor is None else position_of(cursor, order)
    rows = connection.execute(page_query(where, position, limit + 1, order)).all()
    items = [job_of(row) for row in rows[:limit]]
    if len(rows) <= limit or not items:
        return Page(items)
    last = rows[len(items) - 1]
    value = None if order.by is JobSort.CREATED else getattr(last, SORT_COLUMNS[order.by].name)
    return Page(items, cursor_of(order, value, last.created_at, last.id))


def count_jobs(connection: Connection, where: JobFilter, most: int) -> int:
    counted = select(jobs.c.id).where(*conditions_of(where)).limit(most).subquery()
    return connection.execute(select(func.count()).select_from(counted)).scalar_one()


def page_query(
    where: JobFilter, behind: Position | None, limit: int, order: JobOrder = NEWEST_FIRST
) -> Select[Any] | CompoundSelect[Any]:
    if order != NEWEST_FIRST:
        return _in_order(where, behind, limit, order)
    states = tuple(dict.fromkeys(where.states))
    if len(states) < 2:
        return _one_state(where, states, behind, limit)
    parts = [select(_one_state(where, (state,), behind, limit).subquery()) for state in states]
    merged = union_all(*parts).subquery()
    return select(merged).order_by(merged.c.created_at.desc(), merged.c.id.desc()).limit(limit)


def _in_order(where: JobFilter, behind: Position | None, limit: int, order: JobOrder) -> Select[Any]:
    """Only ids are sorted, because whole rows are long."""
    keys = [jobs.c.created_at, jobs.c.id]
    if order.by is not JobSort.CREATED:
        keys.insert(0, SORT_COLUMNS[order.by])
    sorting = [key.desc() if order.is_descending else key.asc() for key in keys]
    ids = select(jobs.c.id).where(*conditions_of(where))
    if behind is not None:
        place, here = tuple_(*keys), tuple_(*behind)
        ids = ids.where(place < here if order.is_descending else place > here)
    page = ids.order_by(*sorting).limit(limit).subquery()
    return select(jobs).join(page, page.c.id == jobs.c.id).order_by(*sorting)


def conditions_of(where: JobFilter) -> list[ColumnElement[bool]]:
    """What a row of `jobs` has to be like."""
    found = [*_conditions(where), *map(_has_label, where.labels)]
    if where.states:
        found.append(jobs.c.state.in_(where.states))
    if where.created_after is not None:
        found.append(jobs.c.created_at > where.created_after)
    if where.created_before is not None:
        found.append(jobs.c.created_at < where.created_before)
    return found


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
    if where.sweep is not None:
        found += [literal_column("sweep <> ''", Boolean), jobs.c.sweep == where.sweep]
    elif where.members is Members.NONE:
        found.append(jobs.c.sweep == "")
    elif where.members is Members.ONLY:
        found.append(jobs.c.sweep != "")
    if where.ids:
        found.append(jobs.c.id.in_(where.ids))
    if where.leaves_out_deleted:
        found.append(or_(jobs.c.cluster != ELSEWHERE, and_(~_is_deleted(), ~_is_of_deleted_experiment())))
    if where.text:
        columns = (jobs.c.name, jobs.c.owner, jobs.c.id)
        found.append(or_(*(_has_part(column, where.text) for column in columns)))
    if where.reason:
        ended = and_(~jobs.c.is_open, _has_part(jobs.c.reason, where.reason))
        found.append(or_(ended, jobs.c.id.in_(where.open_with_reason)))
    return found


def _has_part(column: Column[Any], part: str) -> ColumnElement[bool]:
    """SQLite compares only what comes before the character 0, which would be found in every text."""
    if "\0" in part:
        raise Invalid("the text that is looked for has a character that no job can have")
    return column.icontains(part, autoescape=True)


def _has_label(label: tuple[str, str]) -> ColumnElement[bool]:
    other = job_labels.alias()
    return exists().where(and_(other.c.job_id == jobs.c.id, other.c.key == label[0], other.c.value == label[1]))


def _is_deleted() -> ColumnElement[bool]:
    tag = job_notes.c.kind == str(NoteKind.TAG), job_notes.c.key == DELETED
    return exists().where(job_notes.c.job_id == jobs.c.id, *tag)


def _is_of_deleted_experiment() -> ColumnElement[bool]:
    of_job = job_labels.c.job_id == jobs.c.id, job_labels.c.key == EXPERIMENT_LABEL
    return exists().where(*of_job, experiments.c.id == job_labels.c.value, experiments.c.is_deleted)
