"""Every state that Slurm has for a job has one meaning, in long and compact form, alone and beside others."""

import pytest

from muster.backends.slurm.answers.job_states import (
    JOB_STATES,
    EndKind,
    JobPhase,
    StateKind,
    cancelled_by,
    job_state,
)

pytestmark = pytest.mark.fast
W, S, R, C, E = JobPhase.WAITING, JobPhase.STARTING, JobPhase.RUNNING, JobPhase.ENDING, JobPhase.ENDED

MEANINGS = {
    "PENDING": (W, None, False),
    "RUNNING": (R, None, False),
    "SUSPENDED": (R, None, False),
    "COMPLETED": (E, EndKind.SUCCEEDED, False),
    "FAILED": (E, EndKind.FAILED, False),
    "CANCELLED": (E, EndKind.CANCELLED, False),
    "TIMEOUT": (E, EndKind.TIME_LIMIT, False),
    "DEADLINE": (E, EndKind.TIME_LIMIT, False),
    "OUT_OF_MEMORY": (E, EndKind.OUT_OF_MEMORY, False),
    "NODE_FAIL": (E, EndKind.NODE_FAILURE, False),
    "BOOT_FAIL": (E, EndKind.NODE_FAILURE, False),
    "PREEMPTED": (E, EndKind.PREEMPTED, False),
    "COMPLETING": (C, None, False),
    "STAGE_OUT": (C, None, False),
    "CONFIGURING": (S, None, False),
    "RESIZING": (R, None, False),
    "REQUEUED": (W, None, False),
    "REQUEUE_FED": (W, None, False),
    "REQUEUE_HOLD": (W, None, True),
    "SPECIAL_EXIT": (W, None, True),
    "STOPPED": (R, None, False),
    "REVOKED": (E, EndKind.CANCELLED, False),
    "RESV_DEL_HOLD": (W, None, True),
    "SIGNALING": (R, None, False),
    "POWER_UP_NODE": (S, None, False),
    "LAUNCH_FAILED": (E, EndKind.LAUNCH_FAILURE, False),
    "RECONFIG_FAIL": (E, EndKind.LAUNCH_FAILURE, False),
    "UPDATE_DB": (R, None, False),
    "EXPEDITING": (W, None, False),
}
COMPACT = {
    "PENDING": "PD",
    "RUNNING": "R",
    "SUSPENDED": "S",
    "COMPLETED": "CD",
    "FAILED": "F",
    "CANCELLED": "CA",
    "TIMEOUT": "TO",
    "DEADLINE": "DL",
    "OUT_OF_MEMORY": "OOM",
    "NODE_FAIL": "NF",
    "BOOT_FAIL": "BF",
    "PREEMPTED": "PR",
    "COMPLETING": "CG",
    "STAGE_OUT": "SO",
    "CONFIGURING": "CF",
    "RESIZING": "RS",
    "REQUEUED": "RQ",
    "REQUEUE_FED": "RF",
    "REQUEUE_HOLD": "RH",
    "SPECIAL_EXIT": "SE",
    "STOPPED": "ST",
    "REVOKED": "RV",
    "RESV_DEL_HOLD": "RD",
    "SIGNALING": "SI",
}


def test_every_state_of_the_table_is_tested() -> None:
    assert [state.name for state in JOB_STATES] == list(MEANINGS)


@pytest.mark.parametrize("word", MEANINGS)
def test_word_has_its_meaning(word: str) -> None:
    found = job_state([word])

    assert (found.phase, found.end, found.is_held) == MEANINGS[word]
    assert (found.end is not None) == (found.phase is JobPhase.ENDED)


@pytest.mark.parametrize(("long", "compact"), COMPACT.items())
def test_compact_form_means_the_same(long: str, compact: str) -> None:
    assert job_state([compact]) is job_state([long])


def test_states_without_compact_form_are_those_that_tables_never_show() -> None:
    assert {state.name for state in JOB_STATES if not state.compact} == {
        state.name for state in JOB_STATES if state.kind is StateKind.REMARK
    }


@pytest.mark.parametrize("flag", [state for state in JOB_STATES if state.kind is StateKind.FLAG])
@pytest.mark.parametrize("base", [state for state in JOB_STATES if state.kind is StateKind.BASE])
def test_flag_decides_whatever_the_base_is(base, flag) -> None:  # type: ignore[no-untyped-def]
    assert job_state([base.name, flag.name]) is flag
    assert job_state([flag.name, base.name]) is flag


@pytest.mark.parametrize("base", [state for state in JOB_STATES if state.kind is StateKind.BASE])
@pytest.mark.parametrize("remark", ["LAUNCH_FAILED", "RECONFIG_FAIL"])
def test_failed_launch_explains_only_a_failure(base, remark) -> None:  # type: ignore[no-untyped-def]
    found = job_state([base.name, remark])

    assert found.end is (EndKind.LAUNCH_FAILURE if base.name == "FAILED" else base.end)


@pytest.mark.parametrize(
    ("words", "phase"),
    [
        (("RUNNING", "POWER_UP_NODE"), S),
        (("PENDING", "POWER_UP_NODE"), W),
        (("COMPLETED", "UPDATE_DB"), E),
        (("PENDING", "EXPEDITING"), W),
        (("PREEMPTED", "COMPLETING"), C),
        (("COMPLETED", "COMPLETING", "STAGE_OUT"), C),
        (("RUNNING", "CONFIGURING"), S),
    ],
)
def test_words_beside_each_other(words: tuple[str, ...], phase: JobPhase) -> None:
    assert job_state(words).phase is phase


@pytest.mark.parametrize("word", ["CANCELLED by 1000", "CANCELLED+", " cancelled ", "Cancelled"])
def test_word_is_recognised_with_what_sacct_adds(word: str) -> None:
    assert job_state([word]).end is EndKind.CANCELLED


@pytest.mark.parametrize("words", [(), ("",), ("SOMETHING_NEW",)])
def test_word_of_a_later_release_neither_ends_nor_requeues_a_job(words: tuple[str, ...]) -> None:
    found = job_state(words)

    assert (found.phase, found.end) == (R, None)


def test_unknown_word_beside_a_known_one_is_ignored() -> None:
    assert job_state(["COMPLETED", "SOMETHING_NEW"]).end is EndKind.SUCCEEDED


@pytest.mark.parametrize(("word", "user"), [("CANCELLED by 1000", 1000), ("CANCELLED", None), ("COMPLETED", None)])
def test_user_who_cancelled(word: str, user: int | None) -> None:
    assert cancelled_by(word) == user
