"""The spec of an attempt: elastic roles have the replicas they were given, and thresholds follow."""

from dataclasses import replace

import pytest

from muster.domain.completion import decide
from muster.domain.elastic import sizes_of, spec_of_attempt
from muster.domain.jobs import Job, Outcome, Verdict
from muster.domain.specs import Completion
from muster.domain.tasks import TaskSucceeded
from tests.parts.building import a_role, a_running_job, a_spec, tasks_of

pytestmark = pytest.mark.fast


def an_elastic_job(completion: Completion | None = None, *, replicas: int = 4, now: int = 2) -> Job:
    worker = a_role("worker", replicas, completion=completion, least=1, most=8)
    return replace(a_running_job(a_spec(a_role("ps", 1), worker)), sizes=(("worker", now),))


def test_an_attempt_without_sizes_has_what_was_asked() -> None:
    job = a_running_job(a_spec(a_role(replicas=3)))
    assert spec_of_attempt(job) is job.spec


def test_an_elastic_role_has_the_replicas_of_its_attempt_and_the_others_stay() -> None:
    spec = spec_of_attempt(an_elastic_job())
    assert {role.name: role.replicas for role in spec.roles} == {"ps": 1, "worker": 2}


def test_sizes_are_counted_for_elastic_roles_only() -> None:
    spec = an_elastic_job().spec
    assert sizes_of(spec, ["ps", "worker", "worker", "worker"]) == (("worker", 3),)
    assert sizes_of(a_spec(a_role(replicas=2)), ["worker", "worker"]) == ()


@pytest.mark.parametrize(
    ("asked", "replicas", "now", "expected"),
    [
        (Completion(1, 4), 4, 2, Completion(1, 2)),
        (Completion(1, 4), 4, 8, Completion(1, 8)),
        (Completion(1, 1), 1, 8, Completion(1, 8)),
        (Completion(4, None), 4, 8, Completion(8, None)),
        (Completion(3, 2), 4, 1, Completion(1, 1)),
        (Completion(None, 2), 4, 3, Completion(None, 2)),
    ],
)
def test_thresholds_follow_the_size(asked: Completion, replicas: int, now: int, expected: Completion) -> None:
    spec = spec_of_attempt(an_elastic_job(asked, replicas=replicas, now=now))
    assert spec.role("worker").completion == expected


def test_a_smaller_gang_succeeds_when_all_that_it_has_succeeded() -> None:
    job = an_elastic_job(Completion(1, 4))
    running, *workers = tasks_of(replace(job, spec=spec_of_attempt(job)))
    ended = [replace(task, state=TaskSucceeded(3.0)) for task in workers]
    verdict = decide(job, [running, *ended])
    assert verdict == Verdict(Outcome.SUCCEED)
    assert decide(job, [running, ended[0], workers[1]]) is None
