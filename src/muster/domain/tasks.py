"""Tasks: one replica of a role in one attempt; the task states, and the table of legal transitions."""

from dataclasses import dataclass, replace

from muster.domain.errors import Conflict
from muster.domain.failures.faults import Fault
from muster.domain.resources import Placement
from muster.domain.used_resources import UsedResources


@dataclass(frozen=True, slots=True)
class TaskLaunching:
    since: float


@dataclass(frozen=True, slots=True)
class TaskWaiting:
    """The task is in the queue of an engine such as Slurm or Kubernetes. Tasks on agents are never in this state."""

    since: float
    reason: str = ""
    """The reason in the engine's own words."""
    starts_at: float | None = None
    """When the engine expects to start the task, if it says so."""
    needs_action: bool = False
    """Whether it starts only after somebody has changed the job or the cluster."""


@dataclass(frozen=True, slots=True)
class TaskPreparing:
    since: float


@dataclass(frozen=True, slots=True)
class TaskRunning:
    since: float


@dataclass(frozen=True, slots=True)
class TaskStopping:
    since: float


@dataclass(frozen=True, slots=True)
class TaskSucceeded:
    at: float


@dataclass(frozen=True, slots=True)
class TaskFailed:
    at: float
    fault: Fault


@dataclass(frozen=True, slots=True)
class TaskStopped:
    """The task ended because Muster stopped it, whatever its exit code."""

    at: float


@dataclass(frozen=True, slots=True)
class TaskLost:
    at: float
    fault: Fault


TaskState = (
    TaskLaunching
    | TaskWaiting
    | TaskPreparing
    | TaskRunning
    | TaskStopping
    | TaskSucceeded
    | TaskFailed
    | TaskStopped
    | TaskLost
)
_CLASSES: tuple[type[TaskState], ...] = (
    TaskLaunching,
    TaskWaiting,
    TaskPreparing,
    TaskRunning,
    TaskStopping,
    TaskSucceeded,
    TaskFailed,
    TaskStopped,
    TaskLost,
)
TASK_STATES: dict[str, type[TaskState]] = {cls.__name__.removeprefix("Task"): cls for cls in _CLASSES}
ENDED: tuple[type[TaskState], ...] = (TaskSucceeded, TaskFailed, TaskStopped, TaskLost)

LEGAL: dict[type[TaskState], tuple[type[TaskState], ...]] = {
    TaskLaunching: (TaskWaiting, TaskPreparing, TaskRunning, TaskStopping, *ENDED),
    TaskWaiting: (TaskWaiting, TaskPreparing, TaskRunning, TaskStopping, *ENDED),
    TaskPreparing: (TaskRunning, TaskStopping, *ENDED),
    TaskRunning: (TaskStopping, *ENDED),
    TaskStopping: ENDED,
    TaskSucceeded: (),
    TaskFailed: (),
    TaskStopped: (),
    TaskLost: (),
}


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    job_id: str
    attempt: int
    name: str
    role: str
    index: int
    rank: int
    placement: Placement
    state: TaskState
    handle: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    log: str | None = None
    """The path of the collected log in the server's log folder; None while the log is still on the node."""
    used: UsedResources | None = None
    """What it used, once it has ended; None if nobody measured it."""

    @property
    def state_name(self) -> str:
        return type(self.state).__name__.removeprefix("Task")

    @property
    def has_ended(self) -> bool:
        return isinstance(self.state, ENDED)


def task_id(job_id: str, attempt: int, role: str, index: int) -> str:
    """The id of a task, which is also the request key of its launch: it is the same whenever it is computed."""
    return f"{job_id}.{attempt}.{role}.{index}"


def job_id_of(task: str) -> str:
    """The job of a task, by the task's id."""
    return task.split(".", 1)[0]


def move_task(task: Task, state: TaskState) -> Task:
    if type(state) not in LEGAL[type(task.state)]:
        target = type(state).__name__.removeprefix("Task")
        raise Conflict(f"task {task.name} is {task.state_name} and cannot become {target}")
    moved = replace(task, state=state)
    if isinstance(state, TaskRunning):
        return replace(moved, started_at=state.since)
    if isinstance(state, TaskSucceeded | TaskFailed | TaskStopped | TaskLost):
        return replace(moved, ended_at=state.at)
    return moved
