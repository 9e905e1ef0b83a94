"""What the other server says of the jobs that were handed on to it, as observations of tasks here. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.domain.failures.exit_causes import ENGINE_LIMIT, LAUNCH_ERRORS, MEMORY, PREEMPTED, TIME_LIMIT
from muster.domain.failures.faults import FaultKind
from muster.domain.tasks import task_id
from muster.lib.clock import from_iso
from muster.ports.backend import Observation, Phase

_FINAL = ("Succeeded", "Failed", "Cancelled")
_BEFORE_START = ("Queued", "Held")
_ENDED = ("Succeeded", "Failed", "Stopped", "Lost")
_STARTING = "it is being started there"


@dataclass(frozen=True, slots=True)
class OtherJob:
    """A job of the other server, which is one attempt of a job here."""

    id: str
    key: str
    """The key of the gang here."""
    told: Mapping[str, Any]

    @property
    def is_over(self) -> bool:
        """Whether nothing of it runs or will run."""
        return self.told["state"] in _FINAL

    @property
    def is_back_in_queue(self) -> bool:
        """Whether it was begun and is to be begun again, which is for this server to decide."""
        return self.told["state"] in _BEFORE_START and self.told["attempts"] > 0

    @property
    def workers(self) -> Iterator[tuple[str, int]]:
        return ((role, index) for role, count in self.told["roles"].items() for index in range(count))

    def task_ids(self) -> list[str]:
        return [self.task_id(role, index) for role, index in self.workers]

    def task_id(self, role: str, index: int) -> str:
        return task_id(self.told["job"], self.told["attempt"], role, index)


def read_jobs(items: Sequence[Mapping[str, Any]]) -> dict[str, OtherJob]:
    """By the key of the gang. They come newest first, and the first one counts: others are copies that people made."""
    found = (OtherJob(str(item["id"]), f"{item['job']}.{item['attempt']}", item) for item in items)
    return {job.key: job for job in found}


def observations(job: OtherJob, handle: str, server: str) -> Iterator[Observation]:
    """`server` is what people call the other one."""
    told = {(task["role"], task["index"]): task for task in job.told["tasks"]}
    for role, index in job.workers:
        task = told.get((role, index))
        own = job.task_id(role, index)
        yield _unbegun(job, own, handle, server) if task is None else _begun(job, task, own, handle, server)


def _unbegun(job: OtherJob, own: str, handle: str, server: str) -> Observation:
    state, reason = job.told["state"], job.told["reason"]
    if state == "Failed":
        fault = job.told["fault"] or {}
        return _never_ran(own, handle, str(fault.get("code", "")), str(fault.get("cause") or reason))
    if job.is_over:
        return Observation(own, Phase.ENDED, handle, stopped=True, cancelled=_removal(job, server))
    is_held = state == "Held"
    why = reason or ("it is held there" if is_held else "it waits there" if state == "Queued" else _STARTING)
    return Observation(own, Phase.WAITING, handle, wait_reason=why, needs_action=is_held)


def _begun(job: OtherJob, task: Mapping[str, Any], own: str, handle: str, server: str) -> Observation:
    started_at = _instant(task["startedAt"])
    if task["state"] in _ENDED and not _awaits_its_reason(job, task):
        return _end(job, task, own, handle, server)
    if started_at is not None:
        return Observation(
            own,
            Phase.RUNNING,
            handle,
            task["node"] or None,
            started_at,
            checkpoint_at=_instant(job.told["checkpointAt"]),
            tracking_url=job.told["trackingUrl"],
        )
    if task["state"] == "Preparing":
        return Observation(own, Phase.PREPARING, handle, task["node"] or None)
    return Observation(
        own,
        Phase.WAITING,
        handle,
        wait_reason=task["waitReason"] or job.told["reason"] or _STARTING,
        starts_at=_instant(task["startsAt"]),
        needs_action=task["needsAction"],
    )


def _awaits_its_reason(job: OtherJob, task: Mapping[str, Any]) -> bool:
    """Whether the task was stopped, and the other server has not said yet what its job comes to: tasks end before
    their job does, and only the end of the job says whether somebody cancelled it."""
    return bool(task["state"] == "Stopped" and job.told["state"] == "Stopping")


def _end(job: OtherJob, task: Mapping[str, Any], own: str, handle: str, server: str) -> Observation:
    state, fault = task["state"], task["fault"] or {}
    code, cause = str(fault.get("code", "")), str(fault.get("cause", ""))
    if state == "Lost":
        return Observation(own, Phase.LOST, handle, task["node"] or None, error_message=f"{server}: {cause}")
    error_code, error_message = _stop(job) if state == "Stopped" else ("", "")
    has_ended_itself = task["exitCode"] is not None or task["signal"] is not None
    if state == "Failed" and not has_ended_itself and code in LAUNCH_ERRORS:
        error_code, error_message = code, cause
    return Observation(
        own,
        Phase.ENDED,
        handle,
        task["node"] or None,
        _instant(task["startedAt"]),
        _instant(task["endedAt"]),
        task["exitCode"],
        task["signal"],
        oom=code == MEMORY.code,
        disk_full=code == "disk-full",
        stopped=state == "Stopped",
        error_code=error_code,
        error_message=error_message,
        cancelled=_removal(job, server) if state == "Stopped" else "",
        checkpoint_at=_instant(job.told["checkpointAt"]),
        tracking_url=job.told["trackingUrl"],
    )


def _stop(job: OtherJob) -> tuple[str, str]:
    """Why the other server stopped a task, if it did so without being asked: code and words."""
    fault = job.told["fault"] or {}
    if job.is_back_in_queue:
        return PREEMPTED, str(job.told["reason"] or "it was put back into the queue there")
    if fault.get("code") == TIME_LIMIT.code:
        return ENGINE_LIMIT, str(fault["cause"])
    if fault.get("kind") in (FaultKind.CAPACITY.value, FaultKind.PLATFORM.value):
        return PREEMPTED, str(fault["cause"])
    return "", ""


def _removal(job: OtherJob, server: str) -> str:
    """Why the whole gang is over, if somebody ended it there."""
    if job.told["state"] != "Cancelled":
        return ""
    by = job.told["cancelledBy"]
    return f"It was stopped on {server}" + (f" by {by}." if by else ".")


def _never_ran(own: str, handle: str, code: str, cause: str) -> Observation:
    return Observation(own, Phase.ENDED, handle, error_code=code or "refused", error_message=cause)


def _instant(text: str | None) -> float | None:
    return None if text is None else from_iso(text)
