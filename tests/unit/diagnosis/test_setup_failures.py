"""Setups that failed, and why."""

import pytest

from muster.domain.failures.diagnosis import classify
from muster.domain.failures.faults import FaultKind

pytestmark = pytest.mark.fast
BEGIN, END = "muster: setup: begins\n", "muster: setup: failed with exit code 1\n"


def test_the_last_error_of_the_setup_is_named() -> None:
    said = "ERROR: Could not find a version\nERROR: No matching distribution found for x\n\nnotice: a new pip\n"
    fault = classify(exit_code=1, log_tail=BEGIN + said + END)
    assert (fault.code, fault.kind, fault.retryable) == ("setup-failed", FaultKind.USER, False)
    assert fault.cause == "The setup of the job failed with exit code 1: No matching distribution found for x."


def test_a_network_that_is_away_can_be_retried() -> None:
    said = "WARNING: Retrying after NewConnectionError('Temporary failure in name resolution')\nERROR: no x\n"
    fault = classify(exit_code=1, log_tail=BEGIN + said + END)
    assert (fault.code, fault.retryable) == ("setup-network", True)


def test_a_setup_that_says_nothing_is_classified() -> None:
    cause = classify(exit_code=3, log_tail=BEGIN + "muster: setup: failed with exit code 3\n").cause
    assert cause == "The setup of the job failed with exit code 3."


def test_a_program_that_fails_after_its_setup_is_classified_by_itself() -> None:
    log = BEGIN + "muster: setup: ready\nModuleNotFoundError: No module named 'x'\n"
    assert classify(exit_code=1, log_tail=log).code == "missing-module"
