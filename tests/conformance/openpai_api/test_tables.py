"""Every state, fault and error of Muster has its word in OpenPAI."""

from collections.abc import Iterator

import pytest

from muster.domain import errors
from muster.domain.errors import MusterError
from muster.domain.failures.diagnosis import PYTHON_EXCEPTION
from muster.domain.failures.exit_causes import (
    DEPENDENCY_FAILED,
    DEPENDENCY_GONE,
    EXIT_CODES,
    EXITED,
    LAUNCH_ERRORS,
    LAUNCH_FAILED,
    LOST,
    MEMORY,
    NO_TRACE,
    SIGNALLED,
    SIGNALS,
    STOPPED,
    TIME_LIMIT,
    Ending,
)
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.failures.log_patterns import SYMPTOMS
from muster.domain.failures.setup_failures import SETUP_FAILED, SETUP_NETWORK
from muster.domain.jobs import JOB_STATES, Cancelled, Failed, Outcome, Stopping, Succeeded, Verdict
from muster.domain.specs import Priority
from muster.domain.tasks import TASK_STATES
from muster.server.compatibility.openpai.errors import CODES
from muster.server.compatibility.openpai.exit_codes import FAULT_CODES, exit_spec, fault_code, job_exit_code
from muster.server.compatibility.openpai.exit_specs import EXIT_SPECS, ExitSpec
from muster.server.compatibility.openpai.job_views import PRIORITY_WORDS
from muster.server.compatibility.openpai.states import (
    JOB_WORDS,
    STOPPING_WORDS,
    TASK_WORDS,
    job_word,
    own_states,
)

pytestmark = pytest.mark.fast

STATES = {"WAITING", "RUNNING", "STOPPING", "SUCCEEDED", "STOPPED", "FAILED"}
TYPES = {"USER_SUCCESS", "USER_STOP", "USER_FAILURE", "PLATFORM_FAILURE", "UNKNOWN_FAILURE"}
STAGES = {"SUBMITTING", "ALLOCATING", "LAUNCHING", "RUNNING", "COMPLETING", "UNKNOWN"}
REACTIONS = {"ALWAYS_RETRY", "RETRY_TO_MAX", "NEVER_RETRY"}
ENDINGS: list[Ending] = [
    LOST,
    *LAUNCH_ERRORS.values(),
    LAUNCH_FAILED,
    TIME_LIMIT,
    MEMORY,
    DEPENDENCY_FAILED,
    DEPENDENCY_GONE,
    STOPPED,
    SETUP_NETWORK,
    SETUP_FAILED,
    *(symptom.ending for symptom in SYMPTOMS),
    PYTHON_EXCEPTION,
    *SIGNALS.values(),
    SIGNALLED,
    *EXIT_CODES.values(),
    EXITED,
    NO_TRACE,
]


def test_every_state_of_jobs_and_tasks_has_a_word() -> None:
    assert set(JOB_WORDS) == set(JOB_STATES.values())
    assert set(TASK_WORDS) == set(TASK_STATES.values())
    assert set(STOPPING_WORDS) == set(Outcome)
    assert {word.state for word in JOB_WORDS.values()} | set(STOPPING_WORDS.values()) == STATES
    assert {word.state for word in TASK_WORDS.values()} <= STATES


@pytest.mark.parametrize("outcome", Outcome)
def test_a_job_is_stopping_only_if_somebody_stopped_it(outcome: Outcome) -> None:
    word = job_word(Stopping(0.0, Verdict(outcome))).state
    assert word == ("STOPPING" if outcome is Outcome.CANCEL else "RUNNING")
    assert "Stopping" in own_states(word)


def test_a_filter_by_a_word_finds_all_states_that_are_shown_as_it() -> None:
    assert own_states("WAITING") == {"Queued", "Held", "Starting"}
    assert own_states("RUNNING") == {"Running", "Stopping"}
    assert own_states("STOPPED") == {"Cancelled"}
    assert own_states("UNKNOWN") == set()


def test_every_fault_has_an_exit_code_that_is_described() -> None:
    assert {ending.code for ending in ENDINGS} | {"unknown"} == set(FAULT_CODES)
    assert set(FAULT_CODES.values()) <= set(EXIT_SPECS)


@pytest.mark.parametrize("spec", EXIT_SPECS.values(), ids=lambda spec: str(spec.code))
def test_an_exit_spec_uses_the_words_of_openpai(spec: ExitSpec) -> None:
    shown = exit_spec(spec.code, None)
    assert shown is not None
    assert (shown["type"] in TYPES, shown["stage"] in STAGES, shown["reaction"] in REACTIONS) == (True, True, True)
    assert {"issuer", "causer", "behavior", "reason", "repro", "solution", "phrase"} < set(shown)


def test_phrases_are_unique() -> None:
    assert len({spec.phrase for spec in EXIT_SPECS.values()}) == len(EXIT_SPECS)


@pytest.mark.parametrize("ending", [one for one in ENDINGS if one.kind in (FaultKind.PLATFORM, FaultKind.CAPACITY)])
def test_a_fault_of_the_platform_is_never_the_users(ending: Ending) -> None:
    kind = EXIT_SPECS[FAULT_CODES[ending.code]].type
    assert kind in ("PLATFORM_FAILURE", "UNKNOWN_FAILURE")


def test_the_end_of_a_job_has_its_code() -> None:
    fault = Fault(FaultKind.USER, "exit", "The program ended with exit code 1.")
    assert job_exit_code(Succeeded(1.0)) == 0
    assert job_exit_code(Cancelled(1.0)) == -210
    assert job_exit_code(Failed(1.0, fault)) == 255
    assert job_exit_code(Stopping(1.0, Verdict(Outcome.FAIL))) is None
    assert fault_code(Fault(FaultKind.USER, "of-a-plugin", "Something.")) == 255


def test_every_error_has_a_status_and_a_code() -> None:
    known = {kind for kind, _, _ in CODES}
    for kind in _all_errors(MusterError):
        first = next(row for row in CODES if issubclass(kind, row[0]))
        assert first[0] is not MusterError or kind is MusterError, kind
    assert known <= set(_all_errors(MusterError))
    assert errors.Conflict in known


def test_every_priority_has_a_word() -> None:
    assert set(PRIORITY_WORDS) == set(Priority)


def _all_errors(kind: type[MusterError]) -> Iterator[type[MusterError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _all_errors(below)
