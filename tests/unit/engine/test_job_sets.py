"""The order in which jobs that wait for each other are admitted."""

from itertools import pairwise

import pytest

from muster.domain.specs import Dependency, JobSpec
from muster.engine.requests.job_sets import SetRefused, repeated_names, siblings, start_order
from tests.parts.building import a_spec

pytestmark = pytest.mark.fast


def waiting(name: str, *after: str) -> JobSpec:
    return a_spec(name=name, after=tuple(Dependency(one) for one in after))


def test_each_comes_after_those_that_it_waits_for_whatever_the_given_order() -> None:
    specs = [waiting("report", "train", "clean"), waiting("train", "prep"), waiting("clean"), waiting("prep", "old")]
    order = [specs[place].name for place in start_order(specs)]
    assert sorted(order) == ["clean", "prep", "report", "train"]
    assert order.index("prep") < order.index("train") < order.index("report") > order.index("clean")
    assert siblings(specs, 3) == {}, "old is not among them"


def test_the_own_name_means_an_earlier_job() -> None:
    assert start_order([waiting("a", "a")]) == [0]


def test_jobs_that_wait_for_each_other_are_refused_with_the_whole_circle() -> None:
    specs = [waiting("a", "c"), waiting("b", "a"), waiting("c", "b"), waiting("free")]
    with pytest.raises(SetRefused) as refused:
        start_order(specs)
    [problem] = refused.value.problems
    assert problem.path == "after"
    assert problem.message.startswith("these jobs would wait for each other forever: ")
    names = problem.message.partition("forever: ")[2].split(" after ")
    assert (len(names), set(names), names[0]) == (4, {"a", "b", "c"}, names[-1])
    pairs = {(specs[i].name, one.job) for i in range(3) for one in specs[i].after}
    assert set(pairwise(names)) == pairs


def test_each_repeated_name_is_told_with_the_place_of_the_first_job_that_has_it() -> None:
    found = repeated_names({0: "sweep", 1: "sweep", 2: "other", 4: "sweep", 5: "", 6: ""}, "jobs")
    assert {place: (one.path, one.message) for place, one in found.items()} == {
        1: ("name", "'sweep' is also in jobs.0"),
        4: ("name", "'sweep' is also in jobs.0"),
    }
