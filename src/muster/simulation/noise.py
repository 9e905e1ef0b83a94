"""What a policy knows of run times beforehand: the truth, nothing, or predictions that are wrong in the way in which
real ones are: mostly a little, sometimes by a hundred times.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import assert_never

from muster.simulation.options import Durations, DurationsKind
from muster.simulation.records import TraceJob

_Draw = Callable[[random.Random], float]


def _uniform(low: float, high: float) -> _Draw:
    return lambda source: source.uniform(low, high)


def _log_uniform(low: float, high: float) -> _Draw:
    return lambda source: math.exp(source.uniform(math.log(low), math.log(high)))


ERRORS: tuple[tuple[float, _Draw], ...] = (
    (0.1, _uniform(0.0, 0.1)),
    (0.4, _uniform(0.1, 0.5)),
    (0.2, _uniform(0.5, 1.0)),
    (0.2, _log_uniform(1.0, 10.0)),
    (0.1, _log_uniform(10.0, 100.0)),
)
"""Share of the jobs, and their error e: the prediction is the run time times or divided by (1 + e), evenly."""


def predicted_durations(jobs: Sequence[TraceJob], durations: Durations) -> list[float | None]:
    """The predicted run time of each job, in order; None where nothing is known. The noise depends only on the seed and
    the order of jobs."""
    match durations.kind:
        case DurationsKind.EXACT:
            return [job.duration_s for job in jobs]
        case DurationsKind.UNKNOWN:
            return [None for _ in jobs]
        case DurationsKind.LIMIT:
            return [job.limit_s for job in jobs]
        case DurationsKind.NOISY:
            source = random.Random(durations.seed)  # noqa: S311 - nothing is kept secret by it
            return [job.duration_s * _factor(source) for job in jobs]
        case _:
            assert_never(durations.kind)


def _factor(source: random.Random) -> float:
    place = source.random()
    draw = ERRORS[-1][1]
    for share, candidate in ERRORS:
        place -= share
        if place < 0:
            draw = candidate
            break
    times = 1 + draw(source)
    return times if source.random() < 0.5 else 1 / times
