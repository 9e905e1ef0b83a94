"""What rules of alerts are compared with: the figures of one moment."""

from dataclasses import dataclass

from muster.domain.alerting.alerts import Alert


@dataclass(frozen=True, slots=True)
class GpuFacts:
    index: int
    model: str
    temperature_c: float | None = None
    ecc_errors: int = 0
    is_lost: bool = False
    foreign: str = ""
    """The names of processes that Muster did not start."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """`is_measured` is false if there is no recent sample: its figures then say nothing, neither good nor bad."""

    cluster: str
    name: str
    is_unreachable: bool = False
    is_joining: bool = False
    """It has not answered since the server began, so that nothing is known yet."""
    since: float | None = None
    note: str = ""
    is_measured: bool = False
    cpu_percent: float | None = None
    memory_percent: float | None = None
    disk_percent: float | None = None
    gpus: tuple[GpuFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """`busy_percent` is the load of its busiest GPU, or its CPU where it has none; 100 is one GPU or one core."""

    name: str
    busy_percent: float | None
    silent_s: float | None = None
    """How long it has written no log; None if that is not known."""
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class JobFacts:
    id: str
    name: str
    owner: str
    cluster: str
    attempt: int
    waiting_since: float | None = None
    """Since when it waits in the queue; None if it does not."""
    tasks: tuple[TaskFacts, ...] = ()
    """Those that run."""
    is_measured: bool = False
    is_interactive: bool = False
    """People use it, so that it may wait for them as long as they like."""


@dataclass(frozen=True, slots=True)
class Facts:
    now: float
    nodes: tuple[NodeFacts, ...] = ()
    jobs: tuple[JobFacts, ...] = ()
    waiting: tuple[tuple[str, int], ...] = ()
    """How many jobs wait on each cluster."""
    alerts: tuple[Alert, ...] = ()
    """What the server tells admins at this moment."""
    certificate_ends_at: float | None = None
