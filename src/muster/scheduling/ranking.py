"""Who is next: one small policy per question, and no other part of the scheduler knows more than `rank`.

A rank orders jobs of one priority, the lowest first. Ranks of different policies meet where virtual clusters borrow, so
all of them count in powers of two of GPU-seconds. The rank of a waiting job stands still; that of a running job may
change with the service it gets, at moments which the policy names.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf, log2
from typing import Protocol

from muster.domain.virtual_clusters import OrderPolicy
from muster.scheduling.demand import JobDemand
from muster.scheduling.predicting import Predictor, next_edge

HOUR_S = 3600.0
_AN_HOUR = log2(HOUR_S)
"""The rank of jobs of which nothing is asked but when they came."""


class Overtaking(StrEnum):
    """What others may do while the job that is next does not fit."""

    NEVER = "never"
    """The head blocks."""
    RESERVED = "reserved"
    """They start if the head's reserved start is not delayed."""
    FREE = "free"
    """They start, until the head has waited long."""


class Ranker(Protocol):
    is_live: bool
    """The rank of a running job sinks all the time, and is asked for whenever it matters."""

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        """`gpus` of the gang, and its run time so far."""
        ...

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        """Run time until the rank of a running job may be another."""
        ...


class Arrival:
    is_live = False

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        return _AN_HOUR

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        return None


class Attained:
    """Least attained service, in steps: a job starts in the first and moves on as it gets service."""

    is_live = False

    def __init__(self, first: float = HOUR_S, factor: float = 4.0, steps: int = 12) -> None:
        self._edges = [first * factor**power for power in range(steps)]

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        step = bisect_right(self._edges, ran_s * gpus + 1e-6)
        return log2(self._edges[step - 1]) if step else 0.0

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        service = ran_s * gpus
        return next(((edge - service) / gpus for edge in self._edges if edge > service + 1e-6), None)


class Remaining:
    """Least remaining service as foretold; the least expected where nobody foretold it."""

    is_live = True

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        foretold = job.predicted_s if job.predicted_s is not None else job.time_limit_s
        if foretold is None:
            return log2(1.0 + self._predictor.work_left(job.likeness, ran_s * gpus))
        return log2(1.0 + max(0.0, foretold - ran_s) * gpus)

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        return None


_SMALL = 256.0
"""GPU-seconds below which nobody is told apart: it is not worth interrupting anybody for less."""


class Expected:
    """Least expected work left, by factors of two, from what was learnt of jobs like it and from what it has had."""

    is_live = False

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        foretold = None if job.predicted_s is None else job.predicted_s * gpus
        return float(int(log2(max(_SMALL, self._predictor.work_left(job.likeness, ran_s * gpus, foretold)))))

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        service = ran_s * gpus
        rank = self.rank(job, gpus, ran_s)
        edge = next_edge(service)
        while edge is not None and self.rank(job, gpus, edge / gpus) == rank:
            edge = next_edge(edge)
        return None if edge is None else (edge - service) / gpus


class ExpectedWhole(Expected):
    """The same where a job once started is never interrupted: its mean counts, and steps would only blur it."""

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        foretold = None if job.predicted_s is None else job.predicted_s * gpus
        return log2(1.0 + self._predictor.expected(job.likeness, foretold))

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        return None


@dataclass(frozen=True, slots=True)
class Policy:
    """A profile: how to rank, who may overtake, whether rank alone is reason to interrupt a running job."""

    name: str
    ranker: Ranker
    overtaking: Overtaking = Overtaking.FREE
    interrupts: bool = False
    by_usage: bool = False
    """Users who have had least come first."""
    patience_s: float = inf
    patience_runs: float = 0.0
    """A job that has waited so long, and so many times as long as such jobs run, counts as one priority higher, again
    and again; from the top on it lets nobody pass."""


PATIENCE_S = 3 * 24 * HOUR_S
PATIENCE_RUNS = 30.0


def policies(predictor: Predictor, *, may_interrupt: bool = True) -> Mapping[OrderPolicy, Policy]:
    """What a virtual cluster may choose from."""
    expected = Expected(predictor) if may_interrupt else ExpectedWhole(predictor)
    return {
        OrderPolicy.DEFAULT: Policy(
            "default", expected, interrupts=may_interrupt, patience_s=PATIENCE_S, patience_runs=PATIENCE_RUNS
        ),
        OrderPolicy.FIFO: Policy(
            "fifo", Arrival(), Overtaking.RESERVED, patience_s=PATIENCE_S, patience_runs=PATIENCE_RUNS
        ),
        OrderPolicy.FAIR: Policy("fair", Arrival(), by_usage=True, patience_s=PATIENCE_S, patience_runs=PATIENCE_RUNS),
        OrderPolicy.LAS: Policy(
            "las", Attained(), interrupts=may_interrupt, patience_s=PATIENCE_S, patience_runs=PATIENCE_RUNS
        ),
        OrderPolicy.SHORTEST: Policy(
            "shortest", Remaining(predictor), patience_s=PATIENCE_S, patience_runs=PATIENCE_RUNS
        ),
    }
