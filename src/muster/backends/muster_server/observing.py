"""What the other server says of the jobs that were handed on to it, as observations of tasks here. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muster.backends.muster_server.answers import ToldFault, ToldJob, ToldTask, ToldUse
from muster.domain.failures.exit_causes import ENGINE_LIMIT, LAUNCH_ERRORS, MEMORY, PREEMPTED, TIME_LIMIT
from muster.domain.failures.faults import FaultKind
from muster.domain.tasks import task_id
from muster.domain.used_resources import UsedGpu, UsedResources
from muster.ports.backend import Observation, Phase

FINAL = ("Succeeded", "Failed", "Cancelled")
_BEFORE_START = ("Queued", "Held")
_ENDED = ("Succeeded", "Failed", "Stopped", "Lost")
_STARTING = "it is being started there"


@dataclass(frozen=True, slots=True)
class OtherJob:
    """A job of the other server, which is one attempt of a job here."""

    told: ToldJob

    @property
    def id(self) -> str:
        return self.told.id

    @property
    def key(self) -> str:
        """The key of the gang here."""
        return f"{self.told.job}.{self.told.attempt}"

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs or will run."""
        return self.told.state in FINAL

    @property
    def is_back_in_queue(self) -> bool:
        """Whether it was begun and is to be begun again, which is for this server to decide."""
        return self.told.state in _BEFORE_START and self.told.attempts > 0

    @property
    def workers(self) -> Iterator[tuple[str, int]]:
        return ((role, index) for role, count in self.told.roles.items() for index in range(count))

    def is_first(self, task: ToldTask) -> bool:
        return (task.role, task.index) == next(self.workers, None)

    def task_ids(self) -> list[str]:
        return [self.task_id(role, index) for role, index in self.workers]

    def task_id(self, role: str, index: int) -> str:
        return task_id(self.told.job, self.told.attempt, role, index)


def read_jobs(items: Sequence[ToldJob]) -> dict[str, OtherJob]:
    """Reads the job of each gang. The newest come first, and the first counts: others are copies that people made."""
    found = (OtherJob(item) for item in items)
    return {job.key: job for job in found}


def observations(job: OtherJob, handle: str, server: str) -> Iterator[Observation]:
    """`server` is the address of the other one."""
    told = {(task.role, task.index): task for task in job.told.tasks}
    for role, index in job.workers:
        task = told.get((role, index))
        own = job.task_id(role, index)
        yield _unbegun(job, own, handle, server) if task is None else _begun(job, task, own, handle, server)


def _unbegun(job: OtherJob, own: str, handle: str, server: str) -> Observation:
    state, reason = job.told.state, job.told.reason
    if state == "Failed":
        fault = job.told.fault or ToldFault()
        return _never_ran(own, handle, fault.code, fault.cause or reason)
    if job.is_over:
        return Observation(own, Phase.ENDED, handle, stopped=True, cancelled=_removal(job, server))
    is_held = state == "Held"
    why = reason or ("it is held there" if is_held else "it waits there" if state == "Queued" else _STARTING)
    return Observation(own, Phase.WAITING, handle, wait_reason=why, needs_action=is_held)


def _begun(job: OtherJob, task: ToldTask, own: str, handle: str, server: str) -> Observation:
    started_at = task.started_at
    if task.state in _ENDED and not _awaits_its_reason(job, task):
        return _end(job, task, own, handle, server)
    if started_at is not None:
        return Observation(
            own,
            Phase.RUNNING,
            handle,
            task.node or None,
            started_at,
            checkpoint_at=job.told.checkpoint_at,
            tracking_url=job.told.tracking_url,
            metrics_bytes=job.told.metric_points if job.is_first(task) else 0,
        )
    if task.state == "Preparing":
        return Observation(own, Phase.PREPARING, handle, task.node or None)
    return Observation(
        own,
        Phase.WAITING,
        handle,
        wait_reason=task.wait_reason or job.told.reason or _STARTING,
        starts_at=task.starts_at,
        needs_action=task.needs_action,
    )


def _awaits_its_reason(job: OtherJob, task: ToldTask) -> bool:
    """Whether the task was stopped, and the other server has not said yet what its job comes to: tasks end before
    their job does, and only the end of the job says whether somebody cancelled it."""
    return bool(task.state == "Stopped" and job.told.state == "Stopping")


def _end(job: OtherJob, task: ToldTask, own: str, handle: str, server: str) -> Observation:
    state, fault = task.state, task.fault or ToldFault()
    code, cause = fault.code, fault.cause
    if state == "Lost":
        return Observation(own, Phase.LOST, handle, task.node or None, error_message=f"{server}: {cause}")
    error_code, error_message = _stop(job) if state == "Stopped" else ("", "")
    has_ended_itself = task.exit_code is not None or task.signal is not None
    if state == "Failed" and not has_ended_itself and code in LAUNCH_ERRORS:
        error_code, error_message = code, cause
    return Observation(
        own,
        Phase.ENDED,
        handle,
        task.node or None,
        task.started_at,
        task.ended_at,
        task.exit_code,
        task.signal,
        oom=code == MEMORY.code,
        disk_full=code == "disk-full",
        stopped=state == "Stopped",
        error_code=error_code,
        error_message=error_message,
        cancelled=_removal(job, server) if state == "Stopped" else "",
        checkpoint_at=job.told.checkpoint_at,
        tracking_url=job.told.tracking_url,
        used=None if task.used is None else _used(task.used),
    )


def _used(told: ToldUse) -> UsedResources:
    gpus = (
        UsedGpu(
            gpu.index,
            gpu.sampled_s,
            gpu.mean_percent,
            gpu.peak_percent,
            gpu.mean_memory_bytes,
            gpu.peak_memory_bytes,
            gpu.energy_j,
        )
        for gpu in told.gpus
    )
    return UsedResources(told.cpu_s, told.peak_cores, told.peak_memory_bytes, tuple(gpus), told.sampled)


def _stop(job: OtherJob) -> tuple[str, str]:
    """Why the other server stopped a task, if it did so without being asked: code and words."""
    fault = job.told.fault or ToldFault()
    if job.is_back_in_queue:
        return PREEMPTED, job.told.reason or "it was put back into the queue there"
    if fault.code == TIME_LIMIT.code:
        return ENGINE_LIMIT, fault.cause
    if fault.kind in (FaultKind.CAPACITY.value, FaultKind.PLATFORM.value):
        return PREEMPTED, fault.cause
    return "", ""


def _removal(job: OtherJob, server: str) -> str:
    """Why the whole gang is over, if somebody ended it there."""
    if job.told.state != "Cancelled":
        return ""
    by = job.told.cancelled_by
    return f"It was stopped on {server}" + (f" by {by}." if by else ".")


def _never_ran(own: str, handle: str, code: str, cause: str) -> Observation:
    return Observation(own, Phase.ENDED, handle, error_code=code or "refused", error_message=cause)
