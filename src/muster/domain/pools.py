"""The pooled capacity of a cluster whose engine places tasks itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PoolCapacity:
    """Amounts without nodes: how much there is, not where."""

    cpu_m: int = 0
    memory_bytes: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    """Whole GPUs by model."""


@dataclass(frozen=True, slots=True)
class Pool:
    total: PoolCapacity
    """What the engine could ever use: a gang beyond it can never run."""
    available: PoolCapacity
    """The total less what others in the same engine use now. What Muster's own tasks use is part of it."""
    largest_node: PoolCapacity
    """The most that one task could get."""
    head_start: PoolCapacity = field(default_factory=PoolCapacity)
    """How much more than what is available may be handed over, to wait in the engine's own queue. A small one keeps the
    engine busy while order and preemption stay Muster's."""
    note: str = ""
    """What a person should know, such as why the engine takes nothing now."""
