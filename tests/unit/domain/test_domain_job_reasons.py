"""The code and figures of the reason that a job has by its state, so that a page can say it in any language."""

from dataclasses import replace

import pytest

from muster.domain.failures.diagnosis import classify
from muster.domain.job_reasons import held_by, killed_by, stored_reason
from muster.domain.jobs import Cancelled, Failed, Held, Outcome, Queued, Stopping, Verdict
from tests.parts.building import a_job

pytestmark = pytest.mark.fast


def test_a_failed_job_has_the_code_of_its_fault_and_the_names_in_it() -> None:
    fault = classify(exit_code=1, log_tail="ModuleNotFoundError: No module named 'torch'\n", task="worker-0")

    reason = stored_reason(replace(a_job(), state=Failed(5.0, fault), reason=fault.cause))

    assert (reason.code, reason.message) == ("missing-module", "The Python module torch is not installed.")
    assert reason.numbers == {"task": "worker-0", "exit_code": 1, "module": "torch"}


def test_figures_of_a_limit_are_told_without_their_sentence() -> None:
    fault = classify(oom=True, memory_bytes=2 << 30)

    assert dict(fault.words) == {"limit": "2Gi"}


@pytest.mark.parametrize("state", [Held(5.0, "amy"), Stopping(5.0, Verdict(Outcome.HOLD, held_by("amy"), by="amy"))])
def test_who_held_a_job_is_told(state: Held | Stopping) -> None:
    reason = stored_reason(replace(a_job(), state=state, reason=held_by("amy")))

    assert (reason.code, dict(reason.numbers)) == ("held", {"by": "amy"})


def test_who_stopped_a_job_is_told() -> None:
    reason = stored_reason(replace(a_job(), state=Cancelled(5.0, "amy"), reason=killed_by("amy")))

    assert (reason.code, dict(reason.numbers)) == ("killed-by", {"by": "amy"})


def test_a_reason_in_words_of_an_engine_has_no_code() -> None:
    state = Cancelled(5.0, "slurm")

    assert stored_reason(replace(a_job(), state=state, reason="cancelled by uid 1001")).code == ""


def test_what_a_waiting_job_met_before_has_no_code() -> None:
    reason = stored_reason(replace(a_job(), state=Queued(5.0), reason="was preempted by other"))

    assert (reason.code, reason.message) == ("", "was preempted by other")
