"""When a job is decided: a table of cases."""

from dataclasses import replace

import pytest

from muster.domain.completion import MAX_PLATFORM_RETRIES, decide, failure_verdict, tally, time_limit_fault
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import Outcome, Tally
from muster.domain.specs import Completion, JobSpec
from muster.domain.tasks import (
    TaskFailed,
    TaskLaunching,
    TaskLost,
    TaskRunning,
    TaskState,
    TaskStopped,
    TaskStopping,
    TaskSucceeded,
)  # fmt: skip
from tests.parts.building import (
    CAPACITY_FAULT,
    FATAL_FAULT,
    PLATFORM_FAULT,
    USER_FAULT,
    a_ps_spec,
    a_role,
    a_running_job,
    a_spec,
    tasks_of,
)  # fmt: skip

pytestmark = pytest.mark.fast

RUNS, WELL, BADLY, STOPPED = TaskRunning(2.0), TaskSucceeded(3.0), TaskFailed(3.0, FATAL_FAULT), TaskStopped(3.0)
LOST = TaskLost(3.0, PLATFORM_FAULT)
PS = a_ps_spec(ps=1, workers=2)
PAIR = a_spec(a_role(replicas=2))


def _pair(completion: Completion) -> JobSpec:
    return a_spec(a_role(replicas=2, completion=completion))


CASES: list[tuple[str, JobSpec, tuple[TaskState, ...], Outcome | None]] = [
    ("all run", PAIR, (RUNS, RUNS), None),
    ("one of two ended well", PAIR, (WELL, RUNS), None),
    ("all ended well", PAIR, (WELL, WELL), Outcome.SUCCEED),
    ("one failed", PAIR, (BADLY, RUNS), Outcome.FAIL),
    ("failed after the other ended well", PAIR, (WELL, BADLY), Outcome.FAIL),
    ("lost counts as failed", PAIR, (LOST, RUNS), Outcome.RETRY),
    ("launching", PAIR, (TaskLaunching(1.0), RUNS), None),
    ("ps: workers run", PS, (RUNS, WELL, RUNS), None),
    ("ps: all workers ended well, ps run on", PS, (RUNS, WELL, WELL), Outcome.SUCCEED),
    ("ps: ps ended first and well", PS, (WELL, RUNS, RUNS), None),
    ("ps: a ps failed", PS, (BADLY, RUNS, RUNS), Outcome.FAIL),
    ("ps: a worker failed", PS, (RUNS, WELL, BADLY), Outcome.FAIL),
    ("two failures allowed, one happened", _pair(Completion(2)), (BADLY, RUNS), None),
    ("two failures allowed, one happened, all ended", _pair(Completion(2)), (BADLY, WELL), Outcome.SUCCEED),
    ("two failures are enough", _pair(Completion(2)), (BADLY, BADLY), Outcome.FAIL),
    ("failures never count", _pair(Completion(None)), (BADLY, RUNS), None),
    ("failures never count, all failed", _pair(Completion(None)), (BADLY, BADLY), Outcome.SUCCEED),
    ("failures never count, lost neither", _pair(Completion(None)), (LOST, RUNS), None),
    ("one success is enough", _pair(Completion(1, 1)), (WELL, RUNS), Outcome.SUCCEED),
    ("failure before success", _pair(Completion(1, 1)), (WELL, BADLY), Outcome.FAIL),
    ("stopped tasks end the job like others", PAIR, (WELL, STOPPED), Outcome.SUCCEED),
    ("stopping is not ended", PAIR, (WELL, TaskStopping(2.5)), None),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "states", "outcome"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_verdict_follows_from_the_tasks(
    spec: JobSpec, states: tuple[TaskState, ...], outcome: Outcome | None
) -> None:
    job = a_running_job(spec)
    verdict = decide(job, tasks_of(job, *states))
    assert (verdict.outcome if verdict else None) == outcome


def test_the_verdict_names_the_earliest_failure() -> None:
    job = a_running_job(PAIR)
    late, early = TaskFailed(9.0, FATAL_FAULT), TaskFailed(4.0, replace(USER_FAULT, task="job-worker-1"))
    verdict = decide(job, tasks_of(job, late, early))
    assert verdict is not None
    assert verdict.fault == early.fault
    assert verdict.reason == USER_FAULT.cause


def _peer_lost(task: str) -> Fault:
    return replace(USER_FAULT, code="peer-lost", task=task)


@pytest.mark.parametrize("own", [USER_FAULT, FATAL_FAULT, CAPACITY_FAULT, PLATFORM_FAULT], ids=lambda fault: fault.code)
def test_the_verdict_names_what_a_task_died_of_rather_than_a_lost_peer(own: Fault) -> None:
    job = a_running_job(PAIR)
    verdict = decide(job, tasks_of(job, TaskFailed(3.0, _peer_lost("job-worker-0")), TaskFailed(4.0, own)))
    assert verdict is not None
    assert verdict.fault == own


def test_the_verdict_looks_for_the_cause_in_all_roles() -> None:
    job = a_running_job(PS)
    states = (TaskFailed(4.0, CAPACITY_FAULT), TaskFailed(3.0, _peer_lost("job-worker-0")), RUNS)
    verdict = decide(job, tasks_of(job, *states))
    assert verdict is not None
    assert (verdict.outcome, verdict.fault) == (Outcome.RETRY, CAPACITY_FAULT)


def test_a_lost_peer_is_the_cause_if_no_task_says_another() -> None:
    job = a_running_job(PAIR)
    first, second = _peer_lost("job-worker-0"), _peer_lost("job-worker-1")
    verdict = decide(job, tasks_of(job, TaskFailed(4.0, first), TaskFailed(3.0, second)))
    assert verdict is not None
    assert verdict.fault == second


@pytest.mark.parametrize(
    ("fault", "retry_max", "retries", "platform_retries", "outcome"),
    [
        (USER_FAULT, 0, 0, 0, Outcome.FAIL),
        (USER_FAULT, 2, 0, 0, Outcome.RETRY),
        (USER_FAULT, 2, 1, 9, Outcome.RETRY),
        (USER_FAULT, 2, 2, 0, Outcome.FAIL),
        (FATAL_FAULT, 9, 0, 0, Outcome.FAIL),
        (PLATFORM_FAULT, 0, 0, 0, Outcome.RETRY),
        (PLATFORM_FAULT, 0, 0, MAX_PLATFORM_RETRIES - 1, Outcome.RETRY),
        (PLATFORM_FAULT, 9, 0, MAX_PLATFORM_RETRIES, Outcome.FAIL),
        (CAPACITY_FAULT, 0, 5, 0, Outcome.RETRY),
        (replace(PLATFORM_FAULT, retryable=False), 9, 0, 0, Outcome.FAIL),
    ],
)
def test_retries_are_on_the_account_of_whose_fault_it_was(
    fault: Fault, retry_max: int, retries: int, platform_retries: int, outcome: Outcome
) -> None:
    job = replace(a_running_job(a_spec(retry_max=retry_max)), retries=retries, platform_retries=platform_retries)
    verdict = failure_verdict(job, fault)
    assert verdict.outcome is outcome
    assert verdict.fault is fault


@pytest.mark.parametrize("kind", list(FaultKind))
def test_only_the_platforms_own_faults_cost_the_user_nothing(kind: FaultKind) -> None:
    assert Fault(kind, "x", "x").counts_against_retries is (kind not in (FaultKind.PLATFORM, FaultKind.CAPACITY))


def test_a_time_limit_is_a_limit_that_retrying_does_not_help() -> None:
    fault = time_limit_fault("2h")
    assert (fault.kind, fault.code, fault.retryable) == (FaultKind.LIMIT, "time-limit", False)
    assert "2h" in fault.cause


def test_the_tally_counts_lost_as_failed_and_leaves_stopped_out() -> None:
    job = a_running_job(a_spec(a_role(replicas=6)))
    states = (WELL, BADLY, LOST, STOPPED, RUNS, TaskStopping(2.0))
    assert tally(tasks_of(job, *states)) == Tally(succeeded=1, failed=2, active=2)
