"""Jobs: an accepted spec with owner, cluster and state; the job states, and the table of legal transitions."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from muster.domain.errors import Conflict
from muster.domain.failures.faults import Fault
from muster.domain.specs import JobSpec, Mode
from muster.domain.used_resources import UsageSum

ELSEWHERE = "elsewhere"
"""The cluster of programs outside of Muster that only report here. No real cluster has this name."""


class Outcome(StrEnum):
    """What follows the state Stopping."""

    SUCCEED = "succeed"
    FAIL = "fail"
    CANCEL = "cancel"
    RETRY = "retry"
    HOLD = "hold"
    PREEMPT = "preempt"
    """Another job gets its resources, or it is to run with another number of replicas. The job returns to Queued, which
    does not count as a retry."""


GOES_ON = (Outcome.RETRY, Outcome.HOLD, Outcome.PREEMPT)
"""The outcomes after which the job continues."""


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    reason: str = ""
    fault: Fault | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    since: float
    not_before: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    since: float
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Starting:
    since: float


@dataclass(frozen=True, slots=True)
class Running:
    since: float


@dataclass(frozen=True, slots=True)
class Stopping:
    since: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Succeeded:
    at: float


@dataclass(frozen=True, slots=True)
class Failed:
    at: float
    fault: Fault


@dataclass(frozen=True, slots=True)
class Cancelled:
    at: float
    by: str | None = None


JobState = Queued | Held | Starting | Running | Stopping | Succeeded | Failed | Cancelled
JOB_STATES: dict[str, type[JobState]] = {
    cls.__name__: cls for cls in (Queued, Held, Starting, Running, Stopping, Succeeded, Failed, Cancelled)
}
FINAL: tuple[type[JobState], ...] = (Succeeded, Failed, Cancelled)
HOLDING: tuple[type[JobState], ...] = (Starting, Running, Stopping)

LEGAL: dict[type[JobState], tuple[type[JobState], ...]] = {
    Queued: (Starting, Held, Failed, Cancelled),
    Held: (Queued, Cancelled),
    Starting: (Running, Stopping),
    Running: (Stopping,),
    Stopping: (Stopping, Queued, Held, Succeeded, Failed, Cancelled),
    Succeeded: (),
    Failed: (),
    Cancelled: (),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of tasks of the current attempt that succeeded, failed or are active."""

    succeeded: int = 0
    failed: int = 0
    active: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    owner: str
    cluster: str
    spec: JobSpec
    state: JobState
    created_at: float
    version: int = 1
    attempt: int = 0
    retries: int = 0
    platform_retries: int = 0
    started_at: float | None = None
    ended_at: float | None = None
    reason: str = ""
    tally: Tally = Tally()
    vc: str = ""
    """The virtual cluster that the job was submitted to; empty if the cluster has none."""
    ran_s: float = 0.0
    """Seconds of run time in earlier attempts whose work was not lost."""
    run_time_s: float = 0.0
    """Seconds of run time in all attempts that have ended, whether or not their work was lost."""
    running_since: float | None = None
    """When the current attempt began to run; None if it has not, or if none is under way."""
    checkpoint_at: float | None = None
    """When the current attempt last reported a checkpoint."""
    preemptions: int = 0
    sizes: tuple[tuple[str, int], ...] = ()
    """The number of replicas of each elastic role in the current attempt."""
    used: UsageSum | None = None
    """What the tasks of all attempts used that have ended."""
    tracking_url: str = ""
    """Where a task of the current attempt says that the job can be followed; empty if none does."""
    sweep: str = ""
    """The id of the sweep that it is a member of; empty if it is of none."""
    member: int = 0
    """Its number in the sweep, from 1."""

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def mode(self) -> Mode:
        return self.spec.mode

    @property
    def state_name(self) -> str:
        return type(self.state).__name__

    @property
    def is_final(self) -> bool:
        return isinstance(self.state, FINAL)

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is no job of any cluster, but a program outside of Muster that only reports to it, and has not
        said how it ended. Nothing here starts, watches or stops it."""
        return self.cluster == ELSEWHERE and isinstance(self.state, Running)


def move(job: Job, state: JobState, *, reason: str | None = None) -> Job:
    """The job in its new state, with its timestamps updated. An illegal transition raises Conflict."""
    if type(state) not in LEGAL[type(job.state)]:
        raise Conflict(f"job {job.name} is {job.state_name} and cannot become {type(state).__name__}")
    moved = replace(job, state=state, version=job.version + 1, reason=job.reason if reason is None else reason)
    match state:
        case Starting():
            return replace(moved, attempt=job.attempt + 1)
        case Running(since=since):
            first = job.started_at if job.started_at is not None else since
            return replace(moved, started_at=first, running_since=since)
        case Succeeded(at=at) | Failed(at=at) | Cancelled(at=at):
            return replace(moved, ended_at=at, running_since=None)
        case Queued() | Held():
            return replace(moved, running_since=None)
        case Stopping():
            return moved
        case _:
            assert_never(state)
