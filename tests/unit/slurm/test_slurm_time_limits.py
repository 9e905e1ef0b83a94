"""A job that its partition would never start for its time limit is refused."""

from dataclasses import replace

import pytest

from muster.backends.slurm.answers.node_tables import PartitionRecord
from muster.backends.slurm.options import SlurmOptions, SubmitSettings
from muster.backends.slurm.script.time_limits import time_limit_problem, time_limit_problems
from muster.domain.specs import JobSpec, Role

pytestmark = pytest.mark.fast
HOUR = 3600.0
PARTITIONS = (
    PartitionRecord("main", ("n1",), True, is_default=True, max_time_s=2 * HOUR),
    PartitionRecord("long", ("n1",), True, max_time_s=10 * HOUR),
    PartitionRecord("open", ("n1",), True),
)


@pytest.mark.parametrize(
    ("settings", "hours", "is_refused"),
    [
        (SubmitSettings(), 1, False),
        (SubmitSettings(), 3, True),
        (SubmitSettings(), 2, True),
        (SubmitSettings("main"), 3, True),
        (SubmitSettings("long"), 3, False),
        (SubmitSettings("main,long"), 3, False),
        (SubmitSettings("main,long"), 11, True),
        (SubmitSettings("main,open"), 11, False),
        (SubmitSettings("no-such"), 11, False),
        (SubmitSettings("main", qos="long"), 3, False),
        (SubmitSettings("main", options=("--exclusive",)), 3, True),
        (SubmitSettings("main", options=("--time-min=10",)), 3, False),
        (SubmitSettings("main", options=("--part=open",)), 3, False),
    ],
)
def test_longest_limit_of_the_partitions_counts(settings: SubmitSettings, hours: int, is_refused: bool) -> None:
    assert (time_limit_problem(_spec(hours), settings, PARTITIONS) is not None) is is_refused


def test_job_without_a_limit_and_a_cluster_that_has_not_answered_refuse_nothing() -> None:
    assert time_limit_problem(JobSpec("train", (Role("worker", 1, ("true",)),)), SubmitSettings(), PARTITIONS) is None
    assert time_limit_problem(_spec(99), SubmitSettings(), ()) is None


def test_problem_says_how_long_it_may_be() -> None:
    found = time_limit_problem(_spec(3), SubmitSettings(), PARTITIONS)
    assert found is not None
    assert (found.path, found.hint) == ("timeLimit", "at most 1h58m, or another virtual cluster")
    assert "the partition main gives at most 2h" in found.message
    assert time_limit_problem(_spec(118 / 60), SubmitSettings(), PARTITIONS) is None


@pytest.mark.parametrize(
    ("named", "virtual", "is_refused"),
    [
        (None, {}, True),
        ("team", {"team": SubmitSettings("long")}, False),
        ("hpc", {"team": SubmitSettings("long")}, True),
        ("hpc", {"default": SubmitSettings("long")}, False),
        ("team", {"team": SubmitSettings(), "default": SubmitSettings("long")}, True),
    ],
)
def test_virtual_cluster_of_the_job_decides(
    named: str | None, virtual: dict[str, SubmitSettings], is_refused: bool
) -> None:
    options = SlurmOptions(submit=SubmitSettings("main"), virtual=virtual)
    found = time_limit_problems(replace(_spec(3), cluster=named), options, "hpc", PARTITIONS)
    assert len(found) == is_refused


def _spec(hours: float) -> JobSpec:
    return JobSpec("train", (Role("worker", 1, ("true",)),), time_limit_s=hours * HOUR, grace_s=60.0)
