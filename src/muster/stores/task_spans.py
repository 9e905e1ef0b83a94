"""Reads when tasks had their nodes and devices, for the schedule. It starts from the jobs that ended last, so that the
work is bounded however long the history is."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, Row, Select, select

from muster.domain.schedule import TaskSpan
from muster.domain.usage.usage_report import ReportWindow
from muster.stores.tables import jobs, tasks

_COLUMNS = (
    *(tasks.c.id, tasks.c.name, tasks.c.job_id, tasks.c.placement, tasks.c.started_at, tasks.c.ended_at, tasks.c.state),
    *(jobs.c.name.label("job"), jobs.c.owner, jobs.c.cluster),
)


def task_spans(connection: Connection, window: ReportWindow, clusters: Sequence[str], limit: int) -> list[TaskSpan]:
    wanted = (jobs.c.cluster.in_(clusters), jobs.c.created_at < window.until)
    open_ones = _spans(connection, window, jobs.c.id.in_(select(jobs.c.id).where(jobs.c.is_open, *wanted)), limit)
    last_ended = (
        select(jobs.c.id)
        .where(~jobs.c.is_open, jobs.c.ended_at > window.since, *wanted)
        .order_by(jobs.c.ended_at.desc(), jobs.c.id.desc())
        .limit(limit)
    )
    # The ids are read first: PostgreSQL would otherwise join before it limits.
    ids = list(connection.execute(last_ended).scalars())
    ended = _spans(connection, window, jobs.c.id.in_(ids), limit) if ids else []
    return sorted([*open_ones, *ended], key=lambda span: span.began_at, reverse=True)[:limit]


def _spans(connection: Connection, window: ReportWindow, which: ColumnElement[bool], limit: int) -> list[TaskSpan]:
    query: Select[Any] = (
        select(*_COLUMNS)
        .join(jobs, jobs.c.id == tasks.c.job_id)
        .where(
            which,
            tasks.c.started_at < window.until,
            (tasks.c.ended_at.is_(None)) | (tasks.c.ended_at > window.since),
        )
        .order_by(tasks.c.started_at.desc())
        .limit(limit)
    )
    return [_span(row) for row in connection.execute(query)]


def _span(row: Row[Any]) -> TaskSpan:
    placement = from_json(row.placement)
    return TaskSpan(
        row.id,
        row.name,
        row.job_id,
        row.job,
        row.owner,
        row.cluster,
        placement["node"],
        tuple(placement.get("devices") or ()),
        row.started_at,
        row.ended_at,
        row.state,
    )
