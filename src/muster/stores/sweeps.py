"""Sweeps, and the number of their members in each state."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, exists, func, insert, select, text, tuple_, update

from muster.domain.errors import Conflict, MusterError, NotFound, StaleWrite
from muster.domain.experiments.sweeps import Goal, MemberCounts, MemberValue, Sweep
from muster.domain.jobs import Job
from muster.ports.store import NEWEST_FIRST, Page, RequestKey, SweepFilter
from muster.stores.codec import job_of, sweep_of, sweep_progress_columns, sweep_row
from muster.stores.job_cursors import cursor_of, position_of
from muster.stores.request_keys import check_same_request
from muster.stores.tables import jobs, metric_series, sweeps

_INSERT = insert(sweeps)
_UPDATE = (
    update(sweeps)
    .where(sweeps.c.id == bindparam("the_id"), sweeps.c.version == bindparam("loaded_version"))
    .where(sweeps.c.owner == bindparam("the_owner"))
    .values({name: bindparam(name) for name in ("version", "made", "stopped_by", "ended_at")})
)
_BY_ID = select(sweeps).where(sweeps.c.id == bindparam("the_id"))
_BY_NAME = (
    select(sweeps)
    .where(sweeps.c.name == bindparam("the_name"))
    .order_by(sweeps.c.created_at.desc(), sweeps.c.id.desc())
    .limit(1)
)
_BY_REQUEST = select(sweeps).where(
    sweeps.c.owner == bindparam("the_owner"), sweeps.c.request_key == bindparam("the_key")
)
_OPEN = select(sweeps).where(sweeps.c.ended_at.is_(None)).order_by(sweeps.c.created_at, sweeps.c.id)
_OF_SWEEPS = text("sweep <> ''")
"""Databases use the partial indexes only for queries that say this."""


def insert_sweep(connection: Connection, sweep: Sweep, key: RequestKey | None) -> None:
    values = {
        **sweep_row(sweep),
        "request_key": None if key is None else key.key,
        "request_digest": "" if key is None else key.digest,
    }
    connection.execute(_INSERT, values)


def why_sweep_not_inserted(connection: Connection, sweep: Sweep, key: RequestKey | None) -> Conflict | None:
    if key is not None and sweep_by_request(connection, key) is not None:
        return Conflict(
            f"{key.user} has already used request key {key.key}", hint="the sweep of this request exists: read it"
        )
    open_one = select(sweeps.c.id).where(
        sweeps.c.owner == sweep.owner, sweeps.c.name == sweep.name, sweeps.c.ended_at.is_(None)
    )
    if connection.execute(open_one).first() is None:
        return None
    message = f"sweep {sweep.name} of {sweep.owner} has not ended; stop it or choose another name"
    return Conflict(message, hint="`muster submit --name NAME` gives it another one")


def update_sweep(connection: Connection, sweep: Sweep) -> None:
    """A sweep that belongs to a former user meanwhile has changed, too."""
    row = {
        **sweep_progress_columns(sweep),
        "the_id": sweep.id,
        "the_owner": sweep.owner,
        "loaded_version": sweep.version - 1,
    }
    if connection.execute(_UPDATE, row).rowcount != 1:
        raise _why_not_updated(connection, sweep)


def _why_not_updated(connection: Connection, sweep: Sweep) -> MusterError:
    stored = connection.execute(select(sweeps.c.version).where(sweeps.c.id == sweep.id)).scalar()
    if stored is None:
        return NotFound(f"there is no sweep {sweep.id}")
    return StaleWrite(f"sweep {sweep.name} has changed in the meantime; load it again and retry")


def remove_empty_sweeps(connection: Connection, ended_before: float) -> None:
    """Removes the sweeps that ended before the instant and have no member any more."""
    member = exists().where(and_(jobs.c.sweep == sweeps.c.id, _OF_SWEEPS))
    connection.execute(delete(sweeps).where(sweeps.c.ended_at < ended_before, ~member))


def sweep_by_id(connection: Connection, sweep_id: str) -> Sweep:
    row = connection.execute(_BY_ID, {"the_id": sweep_id}).first()
    if row is None:
        raise NotFound(f"there is no sweep {sweep_id}")
    return sweep_of(row)


def find_sweep(connection: Connection, owner: str | None, name: str) -> Sweep | None:
    query = _BY_NAME if owner is None else _BY_NAME.where(sweeps.c.owner == owner)
    row = connection.execute(query, {"the_name": name}).first()
    return None if row is None else sweep_of(row)


def sweep_by_request(connection: Connection, key: RequestKey) -> Sweep | None:
    """Raises Conflict if the key was used for another request."""
    row = connection.execute(_BY_REQUEST, {"the_owner": key.user, "the_key": key.key}).first()
    if row is None:
        return None
    check_same_request(key, row.request_digest, f"sweep {row.name}")
    return sweep_of(row)


def open_sweeps(connection: Connection) -> list[Sweep]:
    return [sweep_of(row) for row in connection.execute(_OPEN)]


def page_of_sweeps(connection: Connection, where: SweepFilter, *, limit: int, cursor: str | None) -> Page[Sweep]:
    query = select(sweeps)
    if where.owner is not None:
        query = query.where(sweeps.c.owner == where.owner)
    if where.is_open is not None:
        query = query.where(sweeps.c.ended_at.is_(None) if where.is_open else sweeps.c.ended_at.is_not(None))
    if cursor is not None:
        query = query.where(tuple_(sweeps.c.created_at, sweeps.c.id) < tuple_(*position_of(cursor, NEWEST_FIRST)))
    rows = connection.execute(query.order_by(sweeps.c.created_at.desc(), sweeps.c.id.desc()).limit(limit + 1)).all()
    items = [sweep_of(row) for row in rows[:limit]]
    if len(rows) <= limit or not items:
        return Page(items)
    return Page(items, cursor_of(NEWEST_FIRST, None, items[-1].created_at, items[-1].id))


def member_counts(connection: Connection, sweep_ids: Sequence[str]) -> dict[str, MemberCounts]:
    query: Any = (
        select(jobs.c.sweep, jobs.c.state, func.count().label("amount"))
        .where(_OF_SWEEPS, jobs.c.sweep.in_(sweep_ids))
        .group_by(jobs.c.sweep, jobs.c.state)
    )
    found: dict[str, dict[str, int]] = {one: {} for one in sweep_ids}
    for row in connection.execute(query):
        found[row.sweep][row.state] = row.amount
    return {one: MemberCounts(by_state) for one, by_state in found.items()}


def page_of_members(
    connection: Connection, sweep_id: str, states: Sequence[str], *, after: int, limit: int
) -> list[Job]:
    query = select(jobs).where(_OF_SWEEPS, jobs.c.sweep == sweep_id, jobs.c.member > after)
    if states:
        query = query.where(jobs.c.state.in_(states))
    return [job_of(row) for row in connection.execute(query.order_by(jobs.c.member).limit(limit))]


def member_values(connection: Connection, sweep: Sweep) -> list[MemberValue]:
    """Return the values of the members. The newest attempt that has the metric counts."""
    lowest = sweep.plan.goal is Goal.MIN
    value = metric_series.c.lowest_value if lowest else metric_series.c.highest_value
    step = metric_series.c.lowest_step if lowest else metric_series.c.highest_step
    query = (
        select(
            jobs.c.member,
            metric_series.c.job_id,
            metric_series.c.attempt,
            value.label("value"),
            step.label("step"),
            metric_series.c.points,
            metric_series.c.last_step,
            (metric_series.c.last_special != "").label("has_diverged"),
        )
        .join(metric_series, metric_series.c.job_id == jobs.c.id)
        .where(_OF_SWEEPS, jobs.c.sweep == sweep.id, metric_series.c.name == sweep.plan.metric)
        .order_by(jobs.c.member, metric_series.c.attempt)
    )
    newest = {row.member: MemberValue(*row) for row in connection.execute(query)}
    return list(newest.values())
