"""Statements and queries for tasks: they are written as a whole by id, and read by job."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Insert, Select, and_, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from muster.domain.tasks import Task
from muster.stores.codec import task_of, task_row
from muster.stores.tables import jobs, tasks


def _upserts() -> dict[str, Insert]:
    """`INSERT … ON CONFLICT DO UPDATE` is the same in both databases, but SQLAlchemy has a class for each."""
    replaced = [column.name for column in tasks.columns if not column.primary_key]
    lite, post = sqlite.insert(tasks), postgresql.insert(tasks)
    return {
        "sqlite": lite.on_conflict_do_update(
            index_elements=[tasks.c.id], set_={name: lite.excluded[name] for name in replaced}
        ),
        "postgresql": post.on_conflict_do_update(
            index_elements=[tasks.c.id], set_={name: post.excluded[name] for name in replaced}
        ),
    }


_UPSERT = _upserts()
_ORDER = (tasks.c.attempt, tasks.c.rank, tasks.c.role, tasks.c.idx)
_OF_JOB = select(tasks).where(tasks.c.job_id == bindparam("job")).order_by(*_ORDER)
_OF_ATTEMPT = _OF_JOB.where(tasks.c.attempt == bindparam("try"))
_OPEN: Select[Any] = (
    select(tasks)
    .join(jobs, and_(jobs.c.id == tasks.c.job_id, jobs.c.attempt == tasks.c.attempt))
    .where(jobs.c.is_open)
    .order_by(jobs.c.created_at, jobs.c.id, *_ORDER)
)


def put_tasks(connection: Connection, values: Sequence[Task]) -> None:
    connection.execute(_UPSERT[connection.dialect.name], [task_row(task) for task in values])


def tasks_of_job(connection: Connection, job_id: str, attempt: int | None) -> list[Task]:
    if attempt is None:
        rows = connection.execute(_OF_JOB, {"job": job_id})
    else:
        rows = connection.execute(_OF_ATTEMPT, {"job": job_id, "try": attempt})
    return [task_of(row) for row in rows]


def open_tasks(connection: Connection) -> list[Task]:
    return [task_of(row) for row in connection.execute(_OPEN)]
