"""Simulations that people have asked a server for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class SimulationState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AskedVariant:
    policy: str
    title: str = ""
    more_gpus: Mapping[str, int] = field(default_factory=dict)
    """How many GPUs of each model there are more, or fewer if negative."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to know."""

    cluster: str
    since: float
    until: float
    variants: tuple[AskedVariant, ...]
    only_own: bool = False
    """Whether only jobs of the person who asks are replayed."""
    durations: str = "unknown"
    preemption_cost: str = "0"


@dataclass(frozen=True, slots=True)
class Simulation:
    id: str
    owner: str
    asked: Asked
    created_at: float
    state: SimulationState = SimulationState.RUNNING
    progress: float = 0.0
    ended_at: float | None = None
    error: str = ""
    jobs: int = 0
    running: int = 0
    """How many of them still run, and are replayed as if they ended now."""
    is_cut: bool = False
    """Whether older jobs were left out, because there are too many."""
    result: Mapping[str, Any] | None = None
