"""Reads jobs that have run and ended, for simulations. Of each spec, only what the job asked for is read."""

from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection, Row, Select, select

from muster.domain.experiments.past_jobs import PastJob
from muster.domain.resources import WHOLE_GPU
from muster.domain.usage.usage_report import ReportWindow
from muster.stores.tables import jobs

_COLUMNS = (
    *(jobs.c.id, jobs.c.owner, jobs.c.vc, jobs.c.created_at, jobs.c.started_at, jobs.c.ended_at),
    *(jobs.c.ran_s, jobs.c.sizes, jobs.c.spec, jobs.c.preemptions),
)


def past_jobs(
    connection: Connection, window: ReportWindow, cluster: str, owner: str | None, limit: int
) -> list[PastJob]:
    query: Select[Any] = (
        select(*_COLUMNS)
        .where(
            ~jobs.c.is_open,
            jobs.c.ended_at > window.since,
            jobs.c.created_at >= window.since,
            jobs.c.created_at < window.until,
            jobs.c.started_at.is_not(None),
            jobs.c.cluster == cluster,
        )
        .order_by(jobs.c.ended_at.desc(), jobs.c.id.desc())
        .limit(limit)
    )
    if owner is not None:
        query = query.where(jobs.c.owner == owner)
    return [_past_job(row) for row in connection.execute(query)]


def _past_job(row: Row[Any]) -> PastJob:
    spec = from_json(row.spec)
    sizes = dict(from_json(row.sizes))
    roles = [(role["resources"], sizes.get(role["name"], role["replicas"])) for role in spec["roles"]]
    models = [model for asked, _ in roles if asked["gpus"] for model in asked.get("gpu_models") or ()]
    return PastJob(
        row.id,
        row.owner,
        row.vc,
        row.created_at,
        row.started_at,
        row.ended_at,
        row.ran_s or max(0.0, row.ended_at - row.started_at),
        sum(asked["gpus"] * asked.get("gpu_share", WHOLE_GPU) * count for asked, count in roles),
        models[0] if models else "",
        sum(asked["cpu_m"] * count for asked, count in roles),
        sum(asked["memory_bytes"] * count for asked, count in roles),
        spec.get("time_limit_s"),
        row.preemptions,
    )
