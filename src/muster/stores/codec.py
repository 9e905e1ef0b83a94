"""Converts domain values to column values and back. No other module knows the layout of a row.

A state is stored as its name, which queries can filter by, and its fields as JSON. pydantic writes the JSON and reads
it back into the types of the domain dataclasses.
"""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json
from sqlalchemy import Row

from muster.domain.events import Event
from muster.domain.experiments.sweeps import Sweep, SweepPlan
from muster.domain.jobs import JOB_STATES, Job, Tally
from muster.domain.resources import Placement
from muster.domain.specs import JobSpec
from muster.domain.tasks import TASK_STATES, Task
from muster.domain.used_resources import UsageSum, UsedResources

_SPEC = TypeAdapter(JobSpec)
_PLAN = TypeAdapter(SweepPlan)
_PLACEMENT = TypeAdapter(Placement)
_USED = TypeAdapter(UsedResources)
_USAGE_SUM = TypeAdapter(UsageSum)
_SIZES = TypeAdapter(tuple[tuple[str, int], ...])
_JOB_STATES = {word: TypeAdapter(cls) for word, cls in JOB_STATES.items()}
_TASK_STATES = {word: TypeAdapter(cls) for word, cls in TASK_STATES.items()}

_FAR = 9e15
"""The time by which jobs are sorted that have not started, or not ended."""


def job_row(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "owner": job.owner,
        "name": job.name,
        "created_at": job.created_at,
        "sweep": job.sweep,
        "member": job.member,
        **job_spec_columns(job),
        **job_state_columns(job),
    }


def job_spec_columns(job: Job) -> dict[str, Any]:
    """The columns that come from the spec. They change only while a job waits."""
    spec = job.spec
    return {
        "mode": spec.mode.value,
        "framework": spec.framework.value,
        "priority": spec.priority.value,
        "sort_priority": spec.priority.rank,
        "package": spec.package,
        "spec": _dump(spec),
        "params": _dump(spec.params) if spec.params else "{}",
    }


def job_state_columns(job: Job) -> dict[str, Any]:
    """The columns that change during the life of a job."""
    tally = job.tally
    return {
        "cluster": job.cluster,
        "state": job.state_name,
        "state_data": _dump(job.state),
        "is_open": not job.is_final and not job.is_elsewhere,
        "version": job.version,
        "attempt": job.attempt,
        "retries": job.retries,
        "platform_retries": job.platform_retries,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "reason": job.reason,
        "succeeded": tally.succeeded,
        "failed": tally.failed,
        "active": tally.active,
        "vc": job.vc,
        "ran_s": job.ran_s,
        "run_time_s": job.run_time_s,
        "running_since": job.running_since,
        "checkpoint_at": job.checkpoint_at,
        "preemptions": job.preemptions,
        "sizes": _dump(job.sizes) if job.sizes else "[]",
        "used": None if job.used is None else _dump(job.used),
        "sort_started": _FAR if job.started_at is None else job.started_at,
        "sort_ended": _FAR if job.ended_at is None else job.ended_at,
        "sort_gpu_m": _gpu_m(job),
        "tracking_url": job.tracking_url,
    }


def _gpu_m(job: Job) -> int:
    sizes = dict(job.sizes)
    return sum(role.resources.gpu_m * sizes.get(role.name, role.replicas) for role in job.spec.roles)


def job_of(row: Row[Any]) -> Job:
    return Job(
        id=row.id,
        owner=row.owner,
        cluster=row.cluster,
        spec=_SPEC.validate_json(row.spec),
        state=_JOB_STATES[row.state].validate_json(row.state_data),
        created_at=row.created_at,
        version=row.version,
        attempt=row.attempt,
        retries=row.retries,
        platform_retries=row.platform_retries,
        started_at=row.started_at,
        ended_at=row.ended_at,
        reason=row.reason,
        tally=Tally(succeeded=row.succeeded, failed=row.failed, active=row.active),
        vc=row.vc,
        ran_s=row.ran_s,
        run_time_s=row.run_time_s,
        running_since=row.running_since,
        checkpoint_at=row.checkpoint_at,
        preemptions=row.preemptions,
        sizes=() if row.sizes == "[]" else _SIZES.validate_json(row.sizes),
        used=None if row.used is None else _USAGE_SUM.validate_json(row.used),
        tracking_url=row.tracking_url,
        sweep=row.sweep,
        member=row.member,
    )


def sweep_row(sweep: Sweep) -> dict[str, Any]:
    return {
        "id": sweep.id,
        "owner": sweep.owner,
        "name": sweep.name,
        "created_at": sweep.created_at,
        "package": sweep.spec.package,
        "plan": _dump(sweep.plan),
        "spec": _dump(sweep.spec),
        **sweep_progress_columns(sweep),
    }


def sweep_progress_columns(sweep: Sweep) -> dict[str, Any]:
    """The columns that change during the life of a sweep."""
    return {
        "version": sweep.version,
        "made": sweep.made,
        "stopped_by": sweep.stopped_by,
        "ended_at": sweep.ended_at,
    }


def sweep_of(row: Row[Any]) -> Sweep:
    return Sweep(
        id=row.id,
        owner=row.owner,
        spec=_SPEC.validate_json(row.spec),
        plan=_PLAN.validate_json(row.plan),
        created_at=row.created_at,
        version=row.version,
        made=row.made,
        stopped_by=row.stopped_by,
        ended_at=row.ended_at,
    )


def task_row(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "job_id": task.job_id,
        "attempt": task.attempt,
        "name": task.name,
        "role": task.role,
        "idx": task.index,
        "rank": task.rank,
        "state": task.state_name,
        "state_data": _dump(task.state),
        "placement": _dump(task.placement),
        "handle": task.handle,
        "started_at": task.started_at,
        "ended_at": task.ended_at,
        "exit_code": task.exit_code,
        "signal": task.signal,
        "log": task.log,
        "used": None if task.used is None else _dump(task.used),
    }


def task_of(row: Row[Any]) -> Task:
    return Task(
        id=row.id,
        job_id=row.job_id,
        attempt=row.attempt,
        name=row.name,
        role=row.role,
        index=row.idx,
        rank=row.rank,
        placement=_PLACEMENT.validate_json(row.placement),
        state=_TASK_STATES[row.state].validate_json(row.state_data),
        handle=row.handle,
        started_at=row.started_at,
        ended_at=row.ended_at,
        exit_code=row.exit_code,
        signal=row.signal,
        log=row.log,
        used=None if row.used is None else _USED.validate_json(row.used),
    )


def event_row(event: Event) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "at": event.at,
        "kind": event.kind,
        "job_id": event.job_id,
        "actor": event.actor,
        "owner": event.owner,
        "data": _dump(event.data),
    }


def event_of(row: Row[Any]) -> Event:
    return Event(
        kind=row.kind,
        at=row.at,
        job_id=row.job_id,
        actor=row.actor,
        owner=row.owner,
        data=cast("Mapping[str, Any]", from_json(row.data)),
        seq=row.seq,
    )


def _dump(value: object) -> str:
    # "constants": a parameter may be inf or nan and must be read back as such, not as null.
    return to_json(value, inf_nan_mode="constants").decode()
