"""The run history from which the scheduler learns after a start: ended jobs, and the GPU time that was used."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection, Row, Select, bindparam, select, union_all

from muster.domain.jobs import Job
from muster.domain.resources import WHOLE_GPU
from muster.ports.store import Spent
from muster.stores.codec import job_of
from muster.stores.tables import jobs, tasks

_LAST_ENDED = (
    select(jobs)
    .where(~jobs.c.is_open, jobs.c.ended_at.is_not(None))
    .order_by(jobs.c.ended_at.desc(), jobs.c.id.desc())
    .limit(bindparam("most"))
)
_RECENT = union_all(
    select(jobs.c.id).where(jobs.c.is_open),
    select(jobs.c.id).where(~jobs.c.is_open, jobs.c.ended_at > bindparam("instant")),
).subquery()
_WITH_DEVICES: Select[Any] = (
    select(
        *(tasks.c.job_id, tasks.c.attempt, tasks.c.role, tasks.c.started_at, tasks.c.ended_at),
        *(jobs.c.cluster, jobs.c.vc, jobs.c.owner, jobs.c.spec),
    )
    .join(_RECENT, _RECENT.c.id == tasks.c.job_id)
    .join(jobs, jobs.c.id == tasks.c.job_id)
    .where(
        tasks.c.started_at.is_not(None),
        tasks.c.ended_at > bindparam("instant"),
        tasks.c.placement.not_like('%"devices":[]%'),
    )
    .order_by(tasks.c.job_id, tasks.c.attempt)
)


def last_ended(connection: Connection, limit: int) -> list[Job]:
    rows = connection.execute(_LAST_ENDED, {"most": limit}).all()
    return [job_of(row) for row in reversed(rows)]


def spent_since(connection: Connection, instant: float) -> list[Spent]:
    """The GPU time of attempts since the instant. Reads only tasks with devices, and only the GPU part of each spec."""
    rows = connection.execute(_WITH_DEVICES, {"instant": instant})
    return [spent for _, members in groupby(rows, key=lambda row: row.job_id) for spent in _of_job(members, instant)]


def _of_job(members: Iterable[Row[Any]], instant: float) -> Iterator[Spent]:
    for _, group in groupby(members, key=lambda row: row.attempt):
        gang = list(group)
        job = gang[0]
        gpus = {role["name"]: _gpus(role["resources"]) for role in from_json(job.spec)["roles"]}
        gpu_s = sum((row.ended_at - max(row.started_at, instant)) * gpus[row.role] for row in gang)
        yield Spent(job.cluster, job.vc, job.owner, gpu_s, max(row.ended_at for row in gang))


def _gpus(resources: dict[str, Any]) -> float:
    share: int = resources.get("gpu_share", WHOLE_GPU)
    return float(resources["gpus"] * share / WHOLE_GPU)
