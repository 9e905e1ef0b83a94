"""The pooled capacity of a cluster whose engine places tasks itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PoolCapacity:
    """The total amounts of a cluster, without the nodes that they are on."""

    cpu_m: int = 0
    memory_bytes: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    """Whole GPUs by model."""
    extended: Mapping[str, int] = field(default_factory=dict)
    """Devices other than GPUs, by the name of their resource."""


@dataclass(frozen=True, slots=True)
class Pool:
    total: PoolCapacity
    """The most that the engine could ever allocate. A gang that needs more can never run."""
    available: PoolCapacity
    """The total minus what others use in the same engine now. It includes what Muster's own tasks use."""
    largest_node: PoolCapacity
    """The most that one task could get."""
    head_start: PoolCapacity = field(default_factory=PoolCapacity)
    """How much more than the available amount may be submitted, to wait in the engine's own queue. A small value keeps
    the engine busy, while Muster still decides order and preemption."""
    note: str = ""
    """A remark for people, such as why the engine accepts no tasks now."""
