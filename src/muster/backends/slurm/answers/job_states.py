"""What the states of Slurm's jobs mean.

A job has one base state and may have flags. Text tables show a single word, a flag if there is one that they know;
JSON shows all of them. Some flags only say more about an end, and never stand alone in a table.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class JobPhase(StrEnum):
    WAITING = "waiting"
    STARTING = "starting"
    """The job has its nodes, and they are not ready yet."""
    RUNNING = "running"
    ENDING = "ending"
    """The job is over, and Slurm still cleans up. What becomes of it is not certain: it may be requeued."""
    ENDED = "ended"


class EndKind(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """The job failed by its exit code or a signal."""
    CANCELLED = "cancelled"
    TIME_LIMIT = "time-limit"
    OUT_OF_MEMORY = "out-of-memory"
    NODE_FAILURE = "node-failure"
    PREEMPTED = "preempted"
    LAUNCH_FAILURE = "launch-failure"


class StateKind(StrEnum):
    BASE = "base"
    FLAG = "flag"
    """It decides, whatever the base state is."""
    REMARK = "remark"
    """It says more about a base state."""


@dataclass(frozen=True, slots=True)
class JobState:
    name: str
    compact: str
    """The state as `squeue --format=%t` shows it; empty if it never does."""
    kind: StateKind
    phase: JobPhase
    end: EndKind | None = None
    is_held: bool = False
    """It waits until somebody releases it."""


_W, _S, _R, _C, _E = JobPhase.WAITING, JobPhase.STARTING, JobPhase.RUNNING, JobPhase.ENDING, JobPhase.ENDED
_BASE, _FLAG, _REMARK = StateKind.BASE, StateKind.FLAG, StateKind.REMARK

JOB_STATES = (
    JobState("PENDING", "PD", _BASE, _W),
    JobState("RUNNING", "R", _BASE, _R),
    JobState("SUSPENDED", "S", _BASE, _R),
    JobState("COMPLETED", "CD", _BASE, _E, EndKind.SUCCEEDED),
    JobState("FAILED", "F", _BASE, _E, EndKind.FAILED),
    JobState("CANCELLED", "CA", _BASE, _E, EndKind.CANCELLED),
    JobState("TIMEOUT", "TO", _BASE, _E, EndKind.TIME_LIMIT),
    JobState("DEADLINE", "DL", _BASE, _E, EndKind.TIME_LIMIT),
    JobState("OUT_OF_MEMORY", "OOM", _BASE, _E, EndKind.OUT_OF_MEMORY),
    JobState("NODE_FAIL", "NF", _BASE, _E, EndKind.NODE_FAILURE),
    JobState("BOOT_FAIL", "BF", _BASE, _E, EndKind.NODE_FAILURE),
    JobState("PREEMPTED", "PR", _BASE, _E, EndKind.PREEMPTED),
    # Those that decide, in the order in which Slurm itself looks at them.
    JobState("COMPLETING", "CG", _FLAG, _C),
    JobState("STAGE_OUT", "SO", _FLAG, _C),
    JobState("CONFIGURING", "CF", _FLAG, _S),
    JobState("RESIZING", "RS", _FLAG, _R),
    JobState("REQUEUED", "RQ", _FLAG, _W),
    JobState("REQUEUE_FED", "RF", _FLAG, _W),
    JobState("REQUEUE_HOLD", "RH", _FLAG, _W, is_held=True),
    JobState("SPECIAL_EXIT", "SE", _FLAG, _W, is_held=True),
    JobState("STOPPED", "ST", _FLAG, _R),
    JobState("REVOKED", "RV", _FLAG, _E, EndKind.CANCELLED),
    JobState("RESV_DEL_HOLD", "RD", _FLAG, _W, is_held=True),
    JobState("SIGNALING", "SI", _FLAG, _R),
    JobState("POWER_UP_NODE", "", _REMARK, _S),
    JobState("LAUNCH_FAILED", "", _REMARK, _E, EndKind.LAUNCH_FAILURE),
    JobState("RECONFIG_FAIL", "", _REMARK, _E, EndKind.LAUNCH_FAILURE),
    JobState("UPDATE_DB", "", _REMARK, _R),
    JobState("EXPEDITING", "", _REMARK, _W),
)
_BY_WORD = {word: state for state in JOB_STATES for word in (state.name, state.compact) if word}
# A word of a later Slurm neither ends a job nor sends it back to the queue: the marks of its tasks decide.
_UNKNOWN = JobState("", "", _BASE, _R)
_CANCELLED_BY = re.compile(r"CANCELLED by (\d+)")


def job_state(words: Iterable[str]) -> JobState:
    """The meaning of all words that Slurm has for one job; in a text table that is one."""
    found = [_BY_WORD[word] for word in map(_plain, words) if word in _BY_WORD]
    flags = [state for state in JOB_STATES if state.kind is _FLAG and state in found]
    if flags:
        return flags[0]
    bases = [state for state in found if state.kind is _BASE]
    remarks = [state for state in found if state.kind is _REMARK]
    if not bases:
        return remarks[0] if remarks else _UNKNOWN
    return next((remark for remark in remarks if _explains(remark, bases[0])), bases[0])


def cancelled_by(word: str) -> int | None:
    """The number of the user who cancelled it, from `sacct`."""
    found = _CANCELLED_BY.fullmatch(word.strip())
    return None if found is None else int(found[1])


def _explains(remark: JobState, base: JobState) -> bool:
    """A job that failed because it could not be launched did not fail by its exit code; one that was launched before,
    and waits or has succeeded now, is no failure."""
    if remark.phase is _S:
        return base.phase is _R
    return remark.end is not None and base.end is EndKind.FAILED


def _plain(word: str) -> str:
    """`CANCELLED by 1000` is cancelled, and so is `CANCELLED+`, as narrow columns of sacct show it."""
    return word.strip().partition(" ")[0].rstrip("+").upper()
