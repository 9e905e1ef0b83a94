"""The rank of a job under each order policy. No other part of the scheduler knows more about a policy than this.

A rank orders jobs of one priority, the lowest first. Ranks of different policies are compared where virtual clusters
borrow, so all of them count in powers of two of GPU-seconds. The rank of a waiting job does not change; that of a
running job may change with the service it gets, at moments which the policy names.
"""

from bisect import bisect_right
from math import log2
from typing import Protocol

from muster.scheduling.demand import JobDemand
from muster.scheduling.ordering.runtime_prediction import Predictor

HOUR_S = 3600.0
_AN_HOUR = log2(HOUR_S)
"""The rank of every job where only the order of arrival counts."""


class Ranker(Protocol):
    is_live: bool
    """Whether the rank of a running job sinks all the time, so that it is worked out whenever it is needed."""

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        """`gpus` are those of the gang, and `ran_s` is its run time so far."""
        ...

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        """The run time until the rank of a running job may change."""
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
    """Least remaining service as predicted, or least expected service where nobody predicted it."""

    is_live = True

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        predicted = job.predicted_s if job.predicted_s is not None else job.time_limit_s
        if predicted is None:
            return log2(1.0 + self._predictor.work_left(job.similarity, ran_s * gpus))
        return log2(1.0 + max(0.0, predicted - ran_s) * gpus)

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        return None


_SMALL = 256.0
"""GPU-seconds below which all jobs are equal, because it is not worth interrupting any job for less."""
_SMALLEST = log2(_SMALL)


class Expected:
    """Least expected work left, by factors of two, from similar jobs and from the service it has had."""

    is_live = False

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        predicted = None if job.predicted_s is None else job.predicted_s * gpus
        return _by_factors_of_two(self._predictor.work_left(job.similarity, ran_s * gpus, predicted))

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        service = ran_s * gpus
        predicted = None if job.predicted_s is None else job.predicted_s * gpus
        rank = _by_factors_of_two(self._predictor.work_left(job.similarity, service, predicted))
        for edge, left in self._predictor.work_left_later(job.similarity, service, predicted):
            if _by_factors_of_two(left) != rank:
                return (edge - service) / gpus
        return None


class ExpectedWhole(Expected):
    """Least expected service where a running job is never interrupted: there the exact mean is the better order."""

    def rank(self, job: JobDemand, gpus: float, ran_s: float) -> float:
        predicted = None if job.predicted_s is None else job.predicted_s * gpus
        return log2(1.0 + self._predictor.expected(job.similarity, predicted))

    def changes_in(self, job: JobDemand, gpus: float, ran_s: float) -> float | None:
        return None


def _by_factors_of_two(work: float) -> float:
    return float(int(log2(work))) if work > _SMALL else _SMALLEST
