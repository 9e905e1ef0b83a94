"""What exporters send besides the figures of nodes, and their counters, for the server's own metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class ExportCounts:
    """How many points were sent, were dropped, and wait until the database answers."""

    sent: int = 0
    dropped: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class JobFigures:
    """A job that has nodes, as it is now. What is not measured is None."""

    cluster: str
    user: str
    id: str
    name: str
    tasks: int
    gpus: int
    run_s: float | None = None
    gpu_load_percent: float | None = None
    """The mean of its GPUs."""
    cpu_percent: float | None = None
    """100 is one core."""
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class UserFigures:
    """The jobs of a user on a cluster that have not ended."""

    cluster: str
    user: str
    jobs: tuple[tuple[str, int], ...]
    """How many there are of each state."""
    gpus: int
    longest_wait_s: float


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The jobs of a virtual cluster that have not ended; its name is empty where a cluster has none."""

    cluster: str
    virtual_cluster: str
    jobs: tuple[tuple[str, int], ...]
    longest_wait_s: float


@dataclass(frozen=True, slots=True)
class WorkFigures:
    jobs: tuple[JobFigures, ...] = ()
    users: tuple[UserFigures, ...] = ()
    queues: tuple[QueueFigures, ...] = ()
