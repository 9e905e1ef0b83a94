"""Reads the jobs of a window of time for reports, in pages, so that few of them are in memory at a time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, Row, Select, select, tuple_

from muster.domain.resources import WHOLE_GPU
from muster.domain.usage.usage_report import JobRun, ReportWindow, TaskRun
from muster.domain.used_resources import UsedResources
from muster.stores.tables import jobs, tasks

_PAGE = 500
_USED = TypeAdapter(UsedResources)
_JOB = (jobs.c.id, jobs.c.owner, jobs.c.vc, jobs.c.cluster, jobs.c.state, jobs.c.state_data, jobs.c.spec)
_TIMES = (jobs.c.created_at, jobs.c.started_at.label("job_started_at"), jobs.c.ended_at.label("job_ended_at"))
_TASK = (
    *(tasks.c.id.label("task_id"), tasks.c.role, tasks.c.placement, tasks.c.started_at, tasks.c.ended_at),
    tasks.c.used,
)
Position = tuple[float, str]


@dataclass(frozen=True, slots=True)
class RunPage:
    runs: list[JobRun]
    ids: frozenset[str]
    last: Position | None
    """Where the next page begins; None if this is the last."""


def open_job_runs(connection: Connection, window: ReportWindow, owner: str | None) -> RunPage:
    """The jobs that have not ended. They are all in memory anyway."""
    chosen = select(jobs.c.id).where(jobs.c.is_open, *_conditions(window, owner))
    found = _read(connection, chosen)
    return RunPage([run for _, run in found], frozenset(job_id for job_id, _ in found), None)


def ended_job_runs(
    connection: Connection, window: ReportWindow, owner: str | None, after: Position | None, but: frozenset[str]
) -> RunPage:
    """A page of those that ended in the window or later, in the order of their ends. Those in `but`
    were read before, when they had not ended."""
    position = (window.since, "") if after is None else after
    chosen = (
        select(jobs.c.id, jobs.c.ended_at)
        .where(~jobs.c.is_open, tuple_(jobs.c.ended_at, jobs.c.id) > tuple_(*position), *_conditions(window, owner))
        .order_by(jobs.c.ended_at, jobs.c.id)
        .limit(_PAGE)
    )
    ends = connection.execute(chosen).all()
    ids = [row.id for row in ends]
    runs = [run for _, run in _read(connection, [one for one in ids if one not in but])]
    last = (ends[-1].ended_at, ends[-1].id) if len(ends) == _PAGE else None
    return RunPage(runs, frozenset(ids), last)


def _conditions(window: ReportWindow, owner: str | None) -> list[ColumnElement[bool]]:
    return [jobs.c.created_at < window.until, *(() if owner is None else (jobs.c.owner == owner,))]


def _read(connection: Connection, chosen: Select[Any] | Sequence[str]) -> list[tuple[str, JobRun]]:
    query: Select[Any] = (
        select(*_JOB, *_TIMES, *_TASK)
        .join(tasks, tasks.c.job_id == jobs.c.id, isouter=True)
        .where(jobs.c.id.in_(chosen))
        .order_by(jobs.c.id)
    )
    rows = connection.execute(query)
    return [(job_id, _job_run(list(members))) for job_id, members in groupby(rows, key=lambda row: row.id)]


def _job_run(rows: Sequence[Row[Any]]) -> JobRun:
    job = rows[0]
    started = [row for row in rows if row.started_at is not None]
    return JobRun(
        job.owner,
        job.vc,
        job.cluster,
        job.created_at,
        job.job_started_at,
        job.job_ended_at,
        from_json(job.state_data)["fault"]["kind"] if job.state == "Failed" else "",
        tuple(_task_runs(job, started)),
    )


def _task_runs(job: Row[Any], started: Sequence[Row[Any]]) -> Iterable[TaskRun]:
    if not started:
        return
    asked = {role["name"]: role["resources"] for role in from_json(job.spec)["roles"]}
    for row in started:
        resources = asked.get(row.role, {})
        yield TaskRun(
            row.task_id,
            from_json(row.placement)["node"],
            row.started_at,
            row.ended_at,
            resources.get("cpu_m", 0),
            resources.get("gpus", 0) * resources.get("gpu_share", WHOLE_GPU),
            None if row.used is None else _USED.validate_json(row.used),
        )
