"""Virtual clusters: a physical cluster plus settings plus a share that is promised."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from muster.domain.resources import Resources
from muster.domain.specs import Mount, Priority, Runtime

WEEK_S = 7 * 86400.0


class OrderPolicy(StrEnum):
    """Who is next within one priority of a virtual cluster."""

    DEFAULT = "default"
    """The least expected work first, learnt from what ended before; shared with those who wait long."""
    FIFO = "fifo"
    FAIR = "fair"
    LAS = "las"
    SHORTEST = "shortest"


@dataclass(frozen=True, slots=True)
class Share:
    """An amount of hardware. GPUs by model; the empty model means any."""

    gpus: Mapping[str, int] = field(default_factory=dict)
    cpu_m: int = 0
    memory_bytes: int = 0

    @property
    def is_nothing(self) -> bool:
        return not (any(self.gpus.values()) or self.cpu_m or self.memory_bytes)


@dataclass(frozen=True, slots=True)
class Limits:
    """None means no limit. The first three make a job wait; more queued jobs than allowed are refused."""

    running_gpus: int | None = None
    running_jobs: int | None = None
    gpu_hours_week: float | None = None
    queued_jobs: int | None = None


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a job gets that does not say otherwise."""

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
    """Who may use it; with `groups` empty too, everybody."""
    groups: tuple[str, ...] = ()
    may_refuse_preemption: bool = False
    """Whether `preemptible: false` is accepted here."""
    limits: Limits = field(default_factory=Limits)
    """Of the virtual cluster as a whole."""
    user_limits: Limits = field(default_factory=Limits)
    """Of each of its users."""
    defaults: Defaults = field(default_factory=Defaults)
    description: str = ""
