"""Records jobs that ended elsewhere, before there was Muster, in its history.

Such a job has made no move here: it has no attempts, no tasks and no logs, and only the audit trail tells of it. Its
labels say where it came from and what it was called there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muster.domain.errors import Conflict, Invalid, Problem
from muster.domain.jobs import Cancelled, Failed, Job, Succeeded
from muster.domain.specs import JobSpec
from muster.engine.cluster_access import chosen_cluster
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.lib.ids import new_id
from muster.ports.store import Change, RequestKey

SOURCE_LABEL, ID_LABEL = "imported-from", "imported-id"


@dataclass(frozen=True, slots=True)
class EndedJob:
    """`id` is what the job was called where it ran. `started_at` is None if nobody knows it any more."""

    id: str
    spec: JobSpec
    state: Succeeded | Failed | Cancelled
    created_at: float
    started_at: float | None
    reason: str


async def import_ended(
    context: Context, source: str, ended: Sequence[EndedJob], owner: str, actor: str
) -> tuple[list[Job], int]:
    """Record all jobs or none. Returns their records, and how many are new: a job that was recorded before, by the same
    owner, from the same source and under the same id, is not recorded again."""
    _refuse_wrong_times(ended, context.clock())
    keys = [RequestKey(owner, f"import:{source}:{one.id}") for one in ended]
    known = [await context.store.job_by_request(key) for key in keys]
    made = [await _record(context, source, one, owner) for one in ended]
    now = context.clock()
    changes = [
        Change(new_job=job, request_key=key, events=[audit_event("job.import", actor, now, job=job, source=source)])
        for key, earlier, job in zip(keys, known, made, strict=True)
        if earlier is None
    ]
    if changes:
        await context.apply_all(changes)
    return [earlier or job for earlier, job in zip(known, made, strict=True)], len(changes)


async def _record(context: Context, source: str, ended: EndedJob, owner: str) -> Job:
    labels = {**ended.spec.labels, SOURCE_LABEL: source, ID_LABEL: ended.id}
    cluster = await chosen_cluster(context, ended.spec.cluster, owner)
    return Job(
        new_id(),
        owner,
        cluster,
        replace(ended.spec, labels=labels, cluster=cluster),
        ended.state,
        ended.created_at,
        started_at=ended.started_at,
        ended_at=ended.state.at,
        reason=ended.reason,
        run_time_s=0.0 if ended.started_at is None else ended.state.at - ended.started_at,
    )


def _refuse_wrong_times(ended: Sequence[EndedJob], now: float) -> None:
    problems = []
    for place, one in enumerate(ended):
        started = one.created_at if one.started_at is None else one.started_at
        if not one.created_at <= started <= one.state.at <= now:
            problems.append(Problem(f"jobs[{place}]", "its times are not in order, or are to come"))
    if problems:
        raise Invalid("these jobs cannot have ended", problems=tuple(problems))
    ids = [one.id for one in ended]
    if len(set(ids)) < len(ids):
        raise Conflict("two of these jobs have the same id")
