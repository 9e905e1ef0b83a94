"""What a server on a restored, older database does: it compares, starts and stops nothing, and says what differs.

The nodes may have run attempts that the database does not know. A job with such an attempt is put on hold, so that it
does not run again by itself when the server is released.
"""

from collections.abc import Iterable

import structlog

from muster.domain.errors import MusterError
from muster.domain.jobs import HOLDING, Held, Outcome, Queued, Verdict, move
from muster.domain.tasks import Task, job_id_of
from muster.engine.context import Context
from muster.engine.lifecycle.completion import stop
from muster.engine.state.event_builders import job_event
from muster.engine.state.open_jobs import Entry
from muster.ports.backend import Observation, Phase, Scope
from muster.ports.capabilities import PastEnd
from muster.ports.store import Change

_log = structlog.get_logger("engine.restored")
BY = "muster server restore"


def note_missing(context: Context, task: Task) -> None:
    """A task that should run is unknown to its node: when the server is released, it counts as lost."""
    _differs(context, task.id, f"{type(task.state).__name__} in the database, unknown to node {task.placement.node}")


async def compare(context: Context, observations: Iterable[Observation]) -> None:
    """Note the tasks that only the nodes know, and hold their jobs."""
    for observation in observations:
        entry = context.open_jobs.get(job_id_of(observation.task_id))
        if entry is not None and (observation.task_id in entry.tasks or not _is_later(entry, observation)):
            continue
        is_over = observation.phase in (Phase.ENDED, Phase.LOST)
        what = f"has ended with exit code {observation.exit_code}" if is_over else "runs"
        _differs(context, observation.task_id, f"unknown to the database; it {what} on node {observation.node}")
        if entry is not None:
            await _hold(context, entry, f"{observation.task_id} {what}, which the restored database does not know")


async def past_ends(context: Context, cluster: str, scope: Scope) -> dict[str, Observation]:
    """The ends of tasks of open jobs that the nodes still know, although they were settled after the backup."""
    cleanup = context.backends[cluster].capabilities.cleanup
    open_ids = [entry.job.id for entry in context.open_jobs.entries() if entry.job.cluster == cluster]
    found: dict[str, Observation] = {}
    if cleanup is None or not open_ids:
        return found
    for node in scope.nodes:
        try:
            found |= {one.task_id: _observation(one) for one in await cleanup.past_ends(node, open_ids)}
        except MusterError as error:
            _log.warning("a node did not say how past tasks ended", node=node, error=str(error))
    return found


def _observation(end: PastEnd) -> Observation:
    return Observation(
        end.task_id,
        Phase.ENDED,
        end.task_id,
        end.node,
        started_at=end.started_at,
        ended_at=end.ended_at,
        exit_code=end.exit_code,
        signal=end.signal,
        stopped=end.stopped,
        error_code=end.error_code,
        error_message=end.error_message,
    )


def _is_later(entry: Entry, observation: Observation) -> bool:
    """Whether the task belongs to an attempt after the one that the database knows."""
    _, attempt, *_ = (*observation.task_id.split("."), "")
    return attempt.isdigit() and int(attempt) > entry.job.attempt


async def _hold(context: Context, entry: Entry, why: str) -> None:
    async with entry.lock:
        now = context.clock()
        if isinstance(entry.job.state, Queued):
            job = move(entry.job, Held(now, BY), reason=why)
            await context.apply(Change(job=job, events=[job_event(job, now, actor=BY)]))
            entry.job = job
            if cluster := context.clusters.get(job.cluster):
                cluster.unqueued(job.id)
        elif isinstance(entry.job.state, HOLDING) and not _is_held(entry):
            await stop(context, entry, Verdict(Outcome.HOLD, why, by=BY), actor=BY)


def _is_held(entry: Entry) -> bool:
    verdict = getattr(entry.job.state, "verdict", None)
    return verdict is not None and verdict.outcome is Outcome.HOLD


def _differs(context: Context, task_id: str, what: str) -> None:
    if context.differences.get(task_id) != what:
        context.differences[task_id] = what
        _log.warning("the restored database differs from the nodes", task=task_id, what=what)
