"""Muster's states in OpenPAI's words, one table for jobs and one for tasks."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.domain.jobs import (
    Cancelled,
    Failed,
    Held,
    JobState,
    Outcome,
    Queued,
    Running,
    Starting,
    Stopping,
    Succeeded,
)
from muster.domain.tasks import (
    TaskFailed,
    TaskLaunching,
    TaskLost,
    TaskPreparing,
    TaskRunning,
    TaskState,
    TaskStopped,
    TaskStopping,
    TaskSucceeded,
    TaskWaiting,
)
from muster.wire.dialects.openpai.protocol import STATES


@dataclass(frozen=True, slots=True)
class Word:
    state: str
    """The word that clients show."""
    sub_state: str
    """The word of OpenPAI's controller for the same thing."""


_SUB_STATES: Mapping[type[JobState], str] = {
    Queued: "AttemptCreationPending",
    Held: "AttemptCreationPending",
    Starting: "AttemptPreparing",
    Running: "AttemptRunning",
    Stopping: "AttemptDeleting",
    Succeeded: "Completed",
    Failed: "Completed",
    Cancelled: "Completed",
}
JOB_WORDS = {kind: Word(STATES[kind.__name__], sub_state) for kind, sub_state in _SUB_STATES.items()}
STOPPING_WORDS: Mapping[Outcome, str] = {
    Outcome.SUCCEED: "RUNNING",
    Outcome.FAIL: "RUNNING",
    Outcome.CANCEL: "STOPPING",
    Outcome.RETRY: "RUNNING",
    Outcome.HOLD: "RUNNING",
    Outcome.PREEMPT: "RUNNING",
}
"""A job whose tasks are being ended is STOPPING only if somebody has stopped it."""
TASK_WORDS: Mapping[type[TaskState], Word] = {
    TaskLaunching: Word("WAITING", "AttemptCreationRequested"),
    TaskWaiting: Word("WAITING", "AttemptPreparing"),
    TaskPreparing: Word("WAITING", "AttemptPreparing"),
    TaskRunning: Word("RUNNING", "AttemptRunning"),
    TaskStopping: Word("STOPPING", "AttemptDeleting"),
    TaskSucceeded: Word("SUCCEEDED", "Completed"),
    TaskFailed: Word("FAILED", "Completed"),
    TaskStopped: Word("STOPPED", "Completed"),
    TaskLost: Word("FAILED", "Completed"),
}


def job_word(state: JobState) -> Word:
    word = JOB_WORDS[type(state)]
    if isinstance(state, Stopping):
        return Word(STOPPING_WORDS[state.verdict.outcome], word.sub_state)
    return word


def own_states(word: str) -> set[str]:
    """The names of Muster's job states that may be shown as this word; none for a word that no job has."""
    shown = {name for name, known in JOB_WORDS.items() if known.state == word}
    if word in STOPPING_WORDS.values():
        shown.add(Stopping)
    return {state.__name__ for state in shown}


def task_word(state: TaskState) -> Word:
    return TASK_WORDS[type(state)]


def is_stopped(state: JobState) -> bool:
    """Whether somebody has asked to stop the job."""
    return isinstance(state, Cancelled) or (isinstance(state, Stopping) and state.verdict.outcome is Outcome.CANCEL)
