"""Virtual clusters: a physical cluster, plus settings, plus a guaranteed share of its hardware."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.domain.resources import Resources
from muster.domain.specs import Mount, Priority, Runtime

WEEK_S = 7 * 86400.0


class OrderPolicy(StrEnum):
    """The order of waiting jobs of the same priority in a virtual cluster."""

    DEFAULT = "default"
    """The job with the least expected work goes first, as predicted from past jobs, but long waits are bounded."""
    FIFO = "fifo"
    FAIR = "fair"
    LAS = "las"
    SHORTEST = "shortest"


@dataclass(frozen=True, slots=True)
class Share:
    """An amount of hardware. GPUs are given by model; the empty model means any."""

    gpus: Mapping[str, int] = field(default_factory=dict)
    cpu_m: int = 0
    memory_bytes: int = 0

    @property
    def is_nothing(self) -> bool:
        return not (any(self.gpus.values()) or self.cpu_m or self.memory_bytes)


@dataclass(frozen=True, slots=True)
class Limits:
    """None means no limit. The first three limits make a job wait; a job over `queued_jobs` is refused."""

    running_gpus: int | None = None
    running_jobs: int | None = None
    gpu_hours_week: float | None = None
    queued_jobs: int | None = None


LIMITS = {
    "runningGpus": "running_gpus",
    "runningJobs": "running_jobs",
    "gpuHoursPerWeek": "gpu_hours_week",
    "queuedJobs": "queued_jobs",
}
"""The names that people write for limits, and the attributes that hold them."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The values that a job gets if its spec does not set them."""

    env: Mapping[str, str] = field(default_factory=dict)
    runtime: Runtime = field(default_factory=Runtime)
    mounts: tuple[Mount, ...] = ()
    resources: Resources | None = None


@dataclass(frozen=True, slots=True)
class VirtualCluster:
    name: str
    cluster: str
    guaranteed: Share = field(default_factory=Share)
    max: Share | None = None
    borrows: bool = True
    policy: OrderPolicy = OrderPolicy.DEFAULT
    priorities: tuple[Priority, ...] = tuple(Priority)
    users: tuple[str, ...] = ()
    """Who may use the virtual cluster. If `groups` is empty too, everybody may."""
    groups: tuple[str, ...] = ()
    may_refuse_preemption: bool = False
    """Whether `preemptible: false` is accepted here."""
    limits: Limits = field(default_factory=Limits)
    """The limits of the virtual cluster as a whole."""
    user_limits: Limits = field(default_factory=Limits)
    """The limits of each of its users."""
    defaults: Defaults = field(default_factory=Defaults)
    description: str = ""
