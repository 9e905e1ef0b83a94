"""The list of jobs that were made in the engine of a cluster: filters and pages."""

import pytest

from muster.domain.errors import Invalid
from muster.domain.resources import Resources
from muster.domain.specs import Mode
from muster.engine.requests.foreign_jobs import Found, page
from muster.ports.foreign_jobs import ForeignJob
from muster.ports.store import JobFilter

pytestmark = pytest.mark.fast


def found(name: str, created_at: float = 1.0, *, state: str = "Running", space: str = "research") -> Found:
    labels = {"team": name}
    job = ForeignJob(space, name, state, Mode.SINGLE, "paddle", (), Resources(), created_at, labels=labels)
    return Found("k8s", "kubernetes", job)


JOBS = [found("a", 1.0), found("b", 3.0, state="Queued"), found("c", 3.0, space="ads"), found("d", 2.0)]


def names(where: JobFilter) -> list[str]:
    return [one.job.name for one in page(JOBS, where, limit=10, cursor=None).items]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (JobFilter(), ["b", "c", "d", "a"]),
        (JobFilter(states=("Queued", "Held")), ["b"]),
        (JobFilter(owner="ads"), ["c"]),
        (JobFilter(cluster="other"), []),
        (JobFilter(cluster="k8s", name="d"), ["d"]),
        (JobFilter(vc="default"), []),
        (JobFilter(labels=(("team", "a"),)), ["a"]),
        (JobFilter(text="K8S:ADS"), ["c"]),
        (JobFilter(created_after=1.0, created_before=3.0), ["d"]),
    ],
)
def test_filters_are_those_of_other_jobs(where: JobFilter, expected: list[str]) -> None:
    assert names(where) == expected


def test_pages_are_complete_although_jobs_come_and_go_in_between() -> None:
    first = page(JOBS, JobFilter(), limit=2, cursor=None)
    assert [one.job.name for one in first.items] == ["b", "c"]
    later = [*(one for one in JOBS if one.job.name != "c"), found("new", 9.0)]
    second = page(later, JobFilter(), limit=2, cursor=first.next_cursor)
    assert ([one.job.name for one in second.items], second.next_cursor) == (["d", "a"], None)


@pytest.mark.parametrize("cursor", ["", "x y", "1.0", "nan k8s:a:b"])
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid):
        page(JOBS, JobFilter(), limit=1, cursor=cursor)
