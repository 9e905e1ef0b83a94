"""The metrics of jobs: points, a summary of each series, and how far each source was read.

Summaries are kept beside the points, so that many jobs are compared without reading curves.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, tuple_, update

from muster.domain.errors import NotFound
from muster.domain.experiments.job_metrics import (
    Extreme,
    MetricBatch,
    MetricCursor,
    MetricPoint,
    MetricSeries,
    summed_up,
)
from muster.stores.tables import jobs, metric_cursors, metric_points, metric_series

_IDS_AT_ONCE = 500
"""SQLite takes a limited number of values in a statement."""
_POINTS_AT_ONCE = 200
_POINT = (metric_points.c.step, metric_points.c.at, metric_points.c.value, metric_points.c.special)
_ORDER = (metric_series.c.job_id, metric_series.c.attempt, metric_series.c.name)


def store_metrics(connection: Connection, batch: MetricBatch) -> None:
    if connection.execute(select(jobs.c.id).where(jobs.c.id == batch.job_id)).first() is None:
        raise NotFound(f"there is no job {batch.job_id}")
    if batch.cursor is not None and not _moved(connection, batch.job_id, batch.cursor):
        return
    by_name, summed = _by_name(batch.points), _by_name(batch.summed)
    if not by_name and not summed:
        return
    known = {one.name: one for one in series_of(connection, [batch.job_id], attempt=batch.attempt)}
    room = batch.limits.points - _stored_points(connection, batch.job_id)
    for name in {**by_name, **summed}:
        points, before = by_name.get(name, []), known.get(name)
        if before is None and len(known) >= batch.limits.names:
            continue
        number = _number(batch.job_id, batch.attempt, name)
        after = summed_up(batch.job_id, batch.attempt, [*points, *summed.get(name, ())], before)
        new = _unknown(connection, number, points, before)[:room] if points and room > 0 else []
        room -= len(new)
        after = known[name] = replace(after, points=after.points + len(new))
        _put_series(connection, number, after, is_new=before is None)
        if new:
            connection.execute(insert(metric_points), [{"series": number, **_point_columns(one)} for one in new])


def point_counts(connection: Connection, job_ids: Sequence[str], attempt: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for begin in range(0, len(job_ids), _IDS_AT_ONCE):
        query = (
            select(metric_series.c.job_id, func.sum(metric_series.c.points))
            .where(metric_series.c.job_id.in_(job_ids[begin : begin + _IDS_AT_ONCE]))
            .where(metric_series.c.attempt == attempt)
            .group_by(metric_series.c.job_id)
        )
        found |= {job: int(points) for job, points in connection.execute(query).all()}
    return found


def series_of(
    connection: Connection, job_ids: Sequence[str], names: Sequence[str] = (), attempt: int | None = None
) -> list[MetricSeries]:
    found: list[MetricSeries] = []
    for begin in range(0, len(job_ids), _IDS_AT_ONCE):
        query = select(metric_series).where(metric_series.c.job_id.in_(job_ids[begin : begin + _IDS_AT_ONCE]))
        if names:
            query = query.where(metric_series.c.name.in_(names))
        if attempt is not None:
            query = query.where(metric_series.c.attempt == attempt)
        found += [_series(row) for row in connection.execute(query.order_by(*_ORDER)).all()]
    return found


def points_of(
    connection: Connection, job_id: str, attempt: int, name: str, first_step: int | None = None
) -> list[MetricPoint]:
    query = (
        select(*_POINT)
        .where(metric_points.c.series == _number(job_id, attempt, name))
        .order_by(metric_points.c.step, metric_points.c.at)
    )
    if first_step is not None:
        query = query.where(metric_points.c.step >= first_step)
    return [
        MetricPoint(name, step, at, float(special) if special else value)
        for step, at, value, special in connection.execute(query).all()
    ]


def position_of(connection: Connection, job_id: str, source: str) -> int:
    query = select(metric_cursors.c.position).where(
        metric_cursors.c.job_id == job_id, metric_cursors.c.source == source
    )
    return int(connection.execute(query).scalar() or 0)


def _by_name(points: Sequence[MetricPoint]) -> dict[str, list[MetricPoint]]:
    found: dict[str, list[MetricPoint]] = {}
    for point in points:
        found.setdefault(point.name, []).append(point)
    return found


def _moved(connection: Connection, job_id: str, cursor: MetricCursor) -> bool:
    """Move the cursor of a source. It does not move if it is not where the batch begins: the batch was stored already,
    or another one before it is missing."""
    where = (metric_cursors.c.job_id == job_id, metric_cursors.c.source == cursor.source)
    stored = connection.execute(select(metric_cursors.c.position).where(*where)).scalar()
    if (stored or 0) != cursor.begin:
        return False
    if stored is None:
        values = {"job_id": job_id, "source": cursor.source, "position": cursor.end}
        connection.execute(insert(metric_cursors), values)
    else:
        connection.execute(update(metric_cursors).where(*where).values(position=cursor.end))
    return True


def _stored_points(connection: Connection, job_id: str) -> int:
    query = select(func.sum(metric_series.c.points)).where(metric_series.c.job_id == job_id)
    return int(connection.execute(query).scalar() or 0)


def _unknown(
    connection: Connection, number: int, points: Sequence[MetricPoint], before: MetricSeries | None
) -> list[MetricPoint]:
    """Those of the points that are not stored, each once. Each is looked for by itself, because two points may be as
    far apart as the curve is long. None is stored beyond the last step."""
    new = {point.key: point for point in points}
    asked = [] if before is None else [point for point in new.values() if point.step <= before.last.step]
    for begin in range(0, len(asked), _POINTS_AT_ONCE):
        some = [_point_columns(point) for point in asked[begin : begin + _POINTS_AT_ONCE]]
        query = select(*_POINT).where(
            metric_points.c.series == number, tuple_(*_POINT).in_([tuple(one.values()) for one in some])
        )
        for step, at, value, special in connection.execute(query).all():
            new.pop(MetricPoint("", step, at, float(special) if special else value).key, None)
    return list(new.values())


def _put_series(connection: Connection, number: int, series: MetricSeries, *, is_new: bool) -> None:
    last = _value_columns(series.last.value)
    values = {
        "points": series.points,
        "last_step": series.last.step,
        "last_at": series.last.at,
        "last_value": last["value"],
        "last_special": last["special"],
        "lowest_step": None if series.lowest is None else series.lowest.step,
        "lowest_value": None if series.lowest is None else series.lowest.value,
        "highest_step": None if series.highest is None else series.highest.step,
        "highest_value": None if series.highest is None else series.highest.value,
    }
    if is_new:
        key = {"id": number, "job_id": series.job_id, "attempt": series.attempt, "name": series.name}
        connection.execute(insert(metric_series), {**key, **values})
    else:
        connection.execute(update(metric_series).where(metric_series.c.id == number).values(**values))


def _series(row: Row[Any]) -> MetricSeries:
    value = float(row.last_special) if row.last_special else row.last_value
    return MetricSeries(
        row.job_id,
        row.attempt,
        row.name,
        row.points,
        MetricPoint(row.name, row.last_step, row.last_at, value),
        None if row.lowest_step is None else Extreme(row.lowest_step, row.lowest_value),
        None if row.highest_step is None else Extreme(row.highest_step, row.highest_value),
    )


def _point_columns(point: MetricPoint) -> dict[str, Any]:
    return {"step": point.step, "at": point.at, **_value_columns(point.value)}


def _value_columns(value: float) -> dict[str, Any]:
    return {"value": value, "special": ""} if math.isfinite(value) else {"value": 0.0, "special": repr(value)}


def _number(job_id: str, attempt: int, name: str) -> int:
    """The number of a series. It is the same in every database, so that rows are restored as they were."""
    digest = hashlib.blake2b(f"{job_id} {attempt} {name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
