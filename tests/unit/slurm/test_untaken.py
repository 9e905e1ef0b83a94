"""Which gangs Slurm has not taken yet, and which of them is tried next."""

import pytest

from muster.backends.slurm.untaken import Untaken

pytestmark = pytest.mark.fast
_PLACE, _OTHER = ("hpc", ""), ("urgent", "")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_only_one_job_is_tried_at_a_time_while_limits_are_reached() -> None:
    clock = Clock()
    untaken = Untaken(clock)
    assert untaken.full_why(_PLACE) == ""

    untaken.is_full(_PLACE, "as many as may be")

    assert untaken.full_why(_PLACE) == "as many as may be"
    assert untaken.full_why(_OTHER) == ""
    clock.now += 60.0
    assert [untaken.full_why(_PLACE) for _ in range(3)] == ["", "as many as may be", "as many as may be"]


def test_all_jobs_are_tried_once_one_was_taken() -> None:
    untaken = Untaken(Clock())
    untaken.is_full(_PLACE, "as many as may be")

    untaken.has_room(_PLACE)

    assert [untaken.full_why(_PLACE) for _ in range(3)] == ["", "", ""]


def test_why_a_gang_was_not_taken_is_known_until_it_was() -> None:
    untaken = Untaken(Clock())
    untaken.note("job.1", "nobody answers")
    assert (untaken.why("job.1"), untaken.why("other.1")) == ("nobody answers", "")

    untaken.settled("job.1")

    assert untaken.why("job.1") == ""
