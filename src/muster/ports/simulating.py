"""The interface to the simulator, which replays past jobs through the scheduler, apart from the server's own work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from muster.domain.experiments.past_jobs import PastJob


@dataclass(frozen=True, slots=True)
class SimulatedNodes:
    """Nodes that are alike."""

    count: int
    gpus: int
    model: str
    cpu_m: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run the same jobs."""

    title: str
    policy: str
    nodes: Sequence[SimulatedNodes]


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    jobs: Sequence[PastJob]
    variants: Sequence[Variant]
    durations: str
    """What policies know of run times in advance: `unknown`, `exact` or `limit`."""
    preemption_cost: str
    points: int
    """How many points a curve has at most."""
    own_gpus: int
    """How many GPUs there really are."""


class Simulator(Protocol):
    async def run(self, plan: SimulationPlan, progress: Callable[[float], None]) -> Mapping[str, Any]:
        """Simulate all variants, and answer the curves as `simulation.curves` describes them. Raises Unavailable if it
        takes too long or needs too much memory, and Invalid if nothing can be simulated. A cancellation ends it."""
        ...
