"""Statements that write jobs, and queries for single jobs or fixed sets of them. `job_listing` has the pages by filter.

The owner, name and creation time of a job never change, and its spec hardly ever, so a transition writes only the other
columns.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select, update

from muster.domain.errors import Conflict, MusterError, NotFound, StaleWrite
from muster.domain.jobs import Job
from muster.ports.store import RequestKey
from muster.stores.codec import job_of, job_row, job_spec_columns, job_state_columns
from muster.stores.events import forget_job_events
from muster.stores.request_keys import check_same_request
from muster.stores.tables import job_labels, jobs, request_keys

_PROGRESS = (
    *("cluster", "state", "state_data", "is_open", "version", "attempt", "retries", "platform_retries"),
    *("started_at", "ended_at", "reason", "succeeded", "failed", "active"),
    *("vc", "ran_s", "run_time_s", "running_since", "checkpoint_at", "preemptions", "sizes", "used"),
    *("sort_started", "sort_ended", "sort_gpu_m", "tracking_url"),
)
_WISHES = ("mode", "framework", "priority", "package", "spec", "sort_priority")

_INSERT = insert(jobs)
_INSERT_LABEL = insert(job_labels)
_INSERT_KEY = insert(request_keys)
_LOADED = update(jobs).where(jobs.c.id == bindparam("the_id"), jobs.c.version == bindparam("loaded_version"))
_UPDATE = _LOADED.values({name: bindparam(name) for name in _PROGRESS})
_REWRITE = _LOADED.values({name: bindparam(name) for name in (*_PROGRESS, *_WISHES)})
_FORGET_LABELS = delete(job_labels).where(job_labels.c.job_id == bindparam("gone"))
_DELETE_ENDED = delete(jobs).where(jobs.c.id == bindparam("gone"), ~jobs.c.is_open)
_BY_ID = select(jobs).where(jobs.c.id == bindparam("the_id"))
_BY_NAME = (
    select(jobs)
    .where(jobs.c.name == bindparam("the_name"))
    .order_by(jobs.c.created_at.desc(), jobs.c.id.desc())
    .limit(1)
)
_BY_OWNER_AND_NAME = _BY_NAME.where(jobs.c.owner == bindparam("the_owner"))
_BY_REQUEST: Select[Any] = (
    select(jobs, request_keys.c.digest)
    .join(request_keys, request_keys.c.job_id == jobs.c.id)
    .where(request_keys.c.user == bindparam("user"), request_keys.c.key == bindparam("key"))
)
_OPEN = select(jobs).where(jobs.c.is_open).order_by(jobs.c.created_at, jobs.c.id)
_OPEN_NAME = select(jobs.c.state).where(
    jobs.c.is_open, jobs.c.owner == bindparam("the_owner"), jobs.c.name == bindparam("the_name")
)
_COUNTS = select(jobs.c.state, func.count().label("amount")).group_by(jobs.c.state)
_ENDED = (
    select(jobs)
    .where(~jobs.c.is_open, jobs.c.ended_at < bindparam("instant"))
    .order_by(jobs.c.ended_at, jobs.c.id)
    .limit(bindparam("most"))
)


def insert_jobs(connection: Connection, new: Sequence[tuple[Job, RequestKey | None]]) -> None:
    connection.execute(_INSERT, [job_row(job) for job, _ in new])
    _insert_labels(connection, [job for job, _ in new])
    keys = [
        {"user": key.user, "key": key.key, "job_id": job.id, "digest": key.digest}
        for job, key in new
        if key is not None
    ]
    if keys:
        connection.execute(_INSERT_KEY, keys)


def _insert_labels(connection: Connection, labelled: Sequence[Job]) -> None:
    labels = [
        {"job_id": job.id, "key": label, "value": value, "created_at": job.created_at}
        for job in labelled
        for label, value in job.spec.labels.items()
    ]
    if labels:
        connection.execute(_INSERT_LABEL, labels)


def why_not_inserted(connection: Connection, job: Job, key: RequestKey | None) -> Conflict | None:
    """Why the database refused to insert the job; None if the job was not the reason. The request key is checked first,
    because a repeated request also finds its name taken."""
    if key is not None and job_by_request(connection, key) is not None:
        return Conflict(
            f"{key.user} has already used request key {key.key}", hint="the job of this request exists: read it"
        )
    state = connection.execute(_OPEN_NAME, {"the_owner": job.owner, "the_name": job.name}).scalar()
    if state is not None:
        message = f"job {job.name} of {job.owner} is still {state}; kill it or choose another name"
        return Conflict(message, hint="`muster submit --name NAME` gives it another one")
    if connection.execute(_BY_ID, {"the_id": job.id}).first() is not None:
        return Conflict(f"a job with id {job.id} already exists; submit again with a new id")
    return None


def update_jobs(connection: Connection, moved: Sequence[tuple[Job, int]]) -> None:
    """Writes jobs, each given with the number of transitions since it was loaded."""
    rows = [{**job_state_columns(job), "the_id": job.id, "loaded_version": job.version - steps} for job, steps in moved]
    if connection.execute(_UPDATE, rows).rowcount != len(rows):
        job, steps = moved[-1]
        raise _why_not_updated(connection, job, job.version - steps)


def rewrite_job(connection: Connection, job: Job, steps: int) -> None:
    """Writes a job whose spec has changed."""
    row = {**job_spec_columns(job), **job_state_columns(job), "the_id": job.id, "loaded_version": job.version - steps}
    if connection.execute(_REWRITE, row).rowcount != 1:
        raise _why_not_updated(connection, job, job.version - steps)
    connection.execute(_FORGET_LABELS, {"gone": job.id})
    _insert_labels(connection, [job])


def _why_not_updated(connection: Connection, job: Job, loaded_version: int) -> MusterError:
    """The reason is exact if one job was written. For several jobs it only says to write them one by one."""
    stored = connection.execute(select(jobs.c.version).where(jobs.c.id == job.id)).scalar()
    if stored is None:
        return NotFound(f"there is no job {job.id}")
    return StaleWrite(
        f"job {job.name} has changed in the meantime (loaded at version {loaded_version}, now at {stored}); "
        "load it again and retry"
    )


def remove_job(connection: Connection, job_id: str) -> None:
    """Foreign keys remove the job's labels, request keys and tasks too."""
    if connection.execute(_DELETE_ENDED, {"gone": job_id}).rowcount == 0:
        job = job_by_id(connection, job_id)
        raise Conflict(f"job {job.name} is {job.state_name}; only a job that has ended can be removed: kill it first")
    forget_job_events(connection, job_id)


def job_by_id(connection: Connection, job_id: str) -> Job:
    row = connection.execute(_BY_ID, {"the_id": job_id}).first()
    if row is None:
        raise NotFound(f"there is no job {job_id}")
    return job_of(row)


def find_job(connection: Connection, owner: str | None, name: str) -> Job | None:
    query = _BY_NAME if owner is None else _BY_OWNER_AND_NAME
    return _job_or_none(connection, query, {"the_name": name, "the_owner": owner})


def job_by_request(connection: Connection, key: RequestKey) -> Job | None:
    """Raises Conflict if the key was used for another request."""
    row = connection.execute(_BY_REQUEST, {"user": key.user, "key": key.key}).first()
    if row is None:
        return None
    check_same_request(key, row.digest, f"job {row.name}")
    return job_of(row)


def open_jobs(connection: Connection) -> list[Job]:
    return [job_of(row) for row in connection.execute(_OPEN)]


def count_by_state(connection: Connection) -> dict[str, int]:
    return {row.state: row.amount for row in connection.execute(_COUNTS)}


def ended_before(connection: Connection, instant: float, limit: int) -> list[Job]:
    return [job_of(row) for row in connection.execute(_ENDED, {"instant": instant, "most": limit})]


def _job_or_none(connection: Connection, query: Select[Any], values: dict[str, Any]) -> Job | None:
    wanted = {name: value for name, value in values.items() if value is not None}
    row = connection.execute(query, wanted).first()
    return None if row is None else job_of(row)
