import io
from itertools import pairwise

import pytest

from muster.simulation.generating import GANGS, Recipe, generate
from muster.simulation.noise import predicted_durations
from muster.simulation.options import Durations, DurationsKind
from muster.simulation.records import TraceJob
from muster.simulation.traces import write_trace

pytestmark = pytest.mark.fast

JOBS = [TraceJob(f"j{number}", number, 100.0, 1) for number in range(20_000)]
BOUNDS = (0.0, 0.1, 0.5, 1.0, 10.0, 100.0)


def noisy(seed: int) -> list[float]:
    predicted = predicted_durations(JOBS, Durations(DurationsKind.NOISY, seed))
    return [value for value in predicted if value is not None]


def errors(seed: int) -> list[float]:
    """How far each prediction is off: e of times or divided by (1 + e)."""
    return [max(value / 100, 100 / value) - 1 for value in noisy(seed)]


def test_errors_are_spread_as_promised() -> None:
    off = errors(1)
    shares = [sum(low < each <= high for each in off) / len(off) for low, high in pairwise(BOUNDS)]

    assert shares == pytest.approx([0.1, 0.4, 0.2, 0.2, 0.1], abs=0.01)


def test_predictions_are_as_often_too_long_as_too_short() -> None:
    longer = sum(value > 100 for value in noisy(1))

    assert longer / len(JOBS) == pytest.approx(0.5, abs=0.01)


def test_large_errors_are_spread_evenly_over_decades() -> None:
    large = [each for each in errors(1) if each > 1]

    assert sum(each > 10**0.5 for each in large if each <= 10) / sum(each <= 10 for each in large) == pytest.approx(
        0.5, abs=0.02
    )


def test_a_seed_says_it_all() -> None:
    assert noisy(3) == noisy(3)
    assert noisy(3) != noisy(4)


@pytest.mark.parametrize(
    ("kind", "told"),
    [(DurationsKind.EXACT, [60.0, 5.0]), (DurationsKind.UNKNOWN, [None, None]), (DurationsKind.LIMIT, [3600.0, None])],
)
def test_the_rest_is_told_as_it_is(kind: DurationsKind, told: list[float | None]) -> None:
    jobs = [TraceJob("a", 0, 60, 1, limit_s=3600), TraceJob("b", 0, 5, 1)]

    assert predicted_durations(jobs, Durations(kind)) == told


def test_the_same_recipe_gives_the_same_trace() -> None:
    texts = [io.StringIO() for _ in range(3)]
    for text, seed in zip(texts, (5, 5, 6), strict=True):
        write_trace(generate(Recipe(50, seed)), text)

    assert texts[0].getvalue() == texts[1].getvalue() != texts[2].getvalue()


def test_generated_jobs_are_what_the_recipe_says() -> None:
    jobs = list(generate(Recipe(5000, 1, per_hour=60, median_s=600, users=4, vcs=2, max_gpus=8)))
    durations = sorted(job.duration_s for job in jobs)

    assert jobs[0].submit_s == 0
    assert [job.submit_s for job in jobs] == sorted(job.submit_s for job in jobs)
    assert jobs[-1].submit_s / 3600 == pytest.approx(5000 / 60, rel=0.05)
    assert durations[2500] == pytest.approx(600, rel=0.1)
    assert {job.gpus for job in jobs} == {gpus for gpus, _ in GANGS if gpus <= 8}
    assert {(job.user, job.vc) for job in jobs} == {
        ("user0", "vc0"),
        ("user1", "vc1"),
        ("user2", "vc0"),
        ("user3", "vc1"),
    }
    assert all(job.limit_s is not None and job.limit_s >= job.duration_s for job in jobs)


def test_a_trace_may_have_neither_users_nor_virtual_clusters() -> None:
    assert {(job.user, job.vc) for job in generate(Recipe(20, 1, users=0, vcs=0))} == {("", "")}
