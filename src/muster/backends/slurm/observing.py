"""What is observed of the tasks of a gang: their own marks, and what Slurm says about their job."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from muster.backends.slurm.answers.job_facts import JobEnd, JobFacts
from muster.backends.slurm.gang_marks import End, GangMarks, TaskMarks
from muster.domain.failures.exit_causes import LOGIN_UNREACHABLE
from muster.ports.backend import Observation, Phase

UNKNOWN_JOB = "slurm-forgot"
_STARTING = "Slurm has given it nodes, and it is about to start there"


def observations(gang: GangMarks, job: JobFacts | None) -> Iterator[Observation]:
    """`job` is None if Slurm does not know it any more."""
    facts = _with_addresses(_as_begun(job, gang), gang.relay) if job is not None else None
    for task in gang.tasks:
        yield observation(task, gang.handle, facts)


def _as_begun(job: JobFacts, gang: GangMarks) -> JobFacts:
    """A job that is cancelled before any of its tasks began was given up by Slurm, if nothing says otherwise."""
    if job.end is None or job.end.unless_begun is None or any(task.begin or task.end for task in gang.tasks):
        return job
    return replace(job, end=job.end.unless_begun)


def _with_addresses(job: JobFacts, relay: str) -> JobFacts:
    """Nodes without a way to the login node tell nobody where they looked for it. The gang knows it."""
    if job.end is None or job.end.error_code != LOGIN_UNREACHABLE or not relay:
        return job
    *names, port = relay.split(",")
    return replace(job, end=replace(job.end, message=f"{job.end.message} at {', '.join(names)}, port {port}"))


def observation(task: TaskMarks, handle: str, job: JobFacts | None) -> Observation:
    """A task's own marks come first. Slurm says why it waits, and how it ended if it could not write that down."""
    base = Observation(
        task.task_id,
        Phase.RUNNING,
        handle,
        node=task.begin.node if task.begin is not None else None,
        started_at=task.begin.at if task.begin is not None else None,
    )
    if task.end is not None and not _is_for_slurm_to_say(task.end):
        return _ended(base, task, task.end)
    if task.end is not None and task.end.is_unless_slurm_knows and (job is None or (job.end and job.end.is_plain)):
        return _ended(base, task, task.end)
    if job is None:
        return replace(base, phase=Phase.LOST, error_code=UNKNOWN_JOB, error_message="Slurm does not know its job")
    end = job.end or (job.part_end if task.end is not None else None)
    if end is not None:
        return _by_slurm(base, task, end)
    if task.begin is not None:
        return base
    return replace(
        base,
        phase=Phase.WAITING,
        wait_reason=job.reason or _STARTING,
        starts_at=job.starts_at,
        needs_action=job.needs_action,
    )


def needs_slurm(task: TaskMarks) -> bool:
    """Whether the end of the task is known only with the state of its job."""
    return task.end is None or _is_for_slurm_to_say(task.end)


def _is_for_slurm_to_say(end: End) -> bool:
    """Slurm sent it a signal, or may have ended its job while it started. Why, the state of the job tells when that
    is over."""
    return end.is_unless_slurm_knows or (end.is_from_outside and not end.is_ordered and end.exit_code != 0)


def _ended(base: Observation, task: TaskMarks, end: End) -> Observation:
    if end.kept is not None:
        return replace(base, phase=Phase(end.kept["phase"]), ended_at=end.at, used=end.used, **_kept(end))
    return replace(
        base,
        phase=Phase.ENDED,
        node=base.node or end.node or None,
        ended_at=end.at,
        exit_code=end.exit_code,
        signal=end.signal,
        stopped=end.is_ordered or (task.is_ordered and task.begin is None),
        error_code=end.error_code,
        error_message=end.error_message,
        used=end.used,
    )


_KEPT = ("exit_code", "signal", "oom", "stopped", "error_code", "error_message", "cancelled", "node_problem")


def _kept(end: End) -> dict[str, Any]:
    kept = end.kept or {}
    return {name: kept[name] for name in _KEPT if name in kept}


def kept_end(seen: Observation) -> dict[str, object]:
    """What is written down of an end that only Slurm knew, so that it is still known when Slurm has forgotten it."""
    return {"phase": str(seen.phase), **{name: getattr(seen, name) for name in _KEPT}}


def _by_slurm(base: Observation, task: TaskMarks, end: JobEnd) -> Observation:
    if task.is_ordered:
        return replace(base, phase=Phase.ENDED, ended_at=end.at, stopped=True)
    return replace(
        base,
        phase=Phase.LOST if end.is_lost else Phase.ENDED,
        ended_at=end.at,
        exit_code=end.exit_code,
        signal=end.signal,
        oom=end.is_oom,
        error_code=end.error_code,
        error_message=end.message,
        cancelled=end.cancelled,
        node_problem=end.node_problem,
    )
