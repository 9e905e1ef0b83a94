"""What records say of a job, all in all."""

import itertools
from typing import Any

import pytest

from muster.logserver.job_summaries import with_record
from tests.parts.log_server import record

pytestmark = pytest.mark.fast
LIFE = [
    record(1, kind="job.queued", at="2026-01-01T00:00:01Z", state="Queued", name="net", params={"lr": 1}, jobId="j"),
    record(2, kind="task.running", at="2026-01-01T00:00:02Z", task={"name": "worker-0"}, name="worker-0", jobId="j"),
    record(3, kind="job.tracking", at="2026-01-01T00:00:03Z", state="Running", trackingUrl="http://b/1", jobId="j"),
    record(4, kind="job.failed", at="2026-01-01T00:00:04Z", state="Failed", fault={"kind": "user"}, jobId="j"),
]


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in records:
        found = with_record(found, one)
    return found


def test_the_newest_state_and_all_that_is_known() -> None:
    found = summary(LIFE)
    assert (found["state"], found["fault"], found["params"]) == ("Failed", {"kind": "user"}, {"lr": 1})
    assert (found["name"], found["trackingUrl"], found["id"]) == ("net", "http://b/1", "j")
    assert (found["submittedAt"], found["lastAt"]) == ("2026-01-01T00:00:01Z", "2026-01-01T00:00:04Z")


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_order_in_which_records_come_does_not_matter(order: tuple[int, ...]) -> None:
    assert summary([LIFE[place] for place in order]) == summary(LIFE)


@pytest.mark.parametrize(
    "forged",
    [
        {"params": [1, 2]},
        {"trackingUrl": "javascript:alert(1)"},
        {"trackingUrl": "//elsewhere.example.org"},
        {"gpuHours": "NaN"},
        {"fault": "text"},
        {"used": 5},
        {"name": {"a": 1}},
        {"state": None, "attempt": True},
    ],
    ids=str,
)
def test_what_no_server_sends_is_left_out(forged: dict[str, Any]) -> None:
    before = summary(LIFE)
    after = summary([*LIFE, record(5, kind="job.tracking", at="2026-01-01T00:00:05Z", jobId="j", **forged)])
    assert {**after, "lastAt": None, "lastSeq": None} == {**before, "lastAt": None, "lastSeq": None}
