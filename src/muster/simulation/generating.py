"""Generates a trace: jobs arrive at random, most are short and small, a few are long or large."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from muster.simulation.records import TraceJob

GANGS: tuple[tuple[int, float], ...] = ((1, 0.6), (2, 0.12), (4, 0.12), (8, 0.12), (16, 0.03), (32, 0.01))
"""The GPUs of a job, and the share of jobs that ask for so many."""
_SPREAD = 1.8
"""Sigma of the log-normal run time: the mean is five times the median, as on real clusters."""
_LONGEST_MEDIANS = 500.0
_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Recipe:
    jobs: int
    seed: int = 0
    per_hour: float = 60.0
    median_s: float = 600.0
    users: int = 8
    vcs: int = 2
    max_gpus: int = 32


def generate(recipe: Recipe) -> Iterator[TraceJob]:
    """The same jobs for the same recipe, on every machine. A virtual cluster has its own users."""
    source = random.Random(recipe.seed)  # noqa: S311 - nothing is kept secret by it
    gangs = [(gpus, share) for gpus, share in GANGS if gpus <= recipe.max_gpus]
    width = len(str(max(recipe.jobs - 1, 0)))
    at_s = 0.0
    for number in range(recipe.jobs):
        user = source.randrange(recipe.users) if recipe.users else None
        duration_s = _duration_s(source, recipe.median_s)
        yield TraceJob(
            job_id=f"g{number:0{width}d}",
            submit_s=float(round(at_s)),
            duration_s=duration_s,
            gpus=float(source.choices([gpus for gpus, _ in gangs], [share for _, share in gangs])[0]),
            user="" if user is None else f"user{user}",
            vc=_vc(source, recipe.vcs, user),
            limit_s=_limit_s(source, duration_s),
        )
        at_s += source.expovariate(recipe.per_hour / _SECONDS)


def _duration_s(source: random.Random, median_s: float) -> float:
    drawn = source.lognormvariate(math.log(median_s), _SPREAD)
    return float(max(1, round(min(drawn, median_s * _LONGEST_MEDIANS))))


def _limit_s(source: random.Random, duration_s: float) -> float:
    """People ask for whole hours, and for more than they need."""
    return math.ceil(duration_s * source.uniform(1, 4) / _SECONDS) * _SECONDS


def _vc(source: random.Random, vcs: int, user: int | None) -> str:
    if not vcs:
        return ""
    return f"vc{(source.randrange(vcs) if user is None else user % vcs)}"
