"""What a record of Slurm means for the tasks of its job: waiting, running, or an end that they could not write down."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from muster.agent.batch.bootstrap import NO_LOGIN_NODE
from muster.agent.batch.coordinator import SECOND_START
from muster.backends.slurm.answers.exit_codes import JobExit
from muster.backends.slurm.answers.job_records import Held, JobRecord
from muster.backends.slurm.answers.job_states import EndKind, JobPhase, cancelled_by
from muster.backends.slurm.answers.wait_reasons import wait_reason
from muster.backends.slurm.site_lines import ENDED_BY
from muster.domain.failures.exit_causes import ENGINE_LIMIT, ENGINE_START, LOGIN_UNREACHABLE, PREEMPTED, REQUEUED

_NODE_FAILED = frozenset(("NODE_FAIL", "NF", "BOOT_FAIL", "BF"))
_PREEMPTED = frozenset(("PREEMPTED", "PR"))
_LAUNCH_FAILED = re.compile(r"launch.failed|JobLaunchFailure|user.env.retrieval.failed", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ended, for tasks that have left no mark of their own end."""

    at: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    is_lost: bool = False
    is_oom: bool = False
    error_code: str = ""
    message: str = ""
    cancelled: str = ""
    node_problem: str = ""
    is_plain: bool = False
    """Whether it says nothing but that the job is over, as its tasks left it."""
    unless_begun: "JobEnd | None" = None
    """What it was instead if none of its tasks has begun."""


@dataclass(frozen=True, slots=True)
class JobFacts:
    job: str
    is_waiting: bool = False
    is_allocated: bool = False
    """Whether it holds nodes."""
    reason: str = ""
    starts_at: float | None = None
    needs_action: bool = False
    """Whether it waits for somebody to change it or the cluster."""
    end: JobEnd | None = None
    is_left: bool = False
    """Whether it is over for Muster, and Slurm would start it again."""
    held: tuple[Held, ...] = ()
    """What it holds, and where."""
    part_end: JobEnd | None = None
    """How a part of it was ended by somebody, while the rest goes on."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """One row of the table of ends. Empty fields say nothing."""

    message: str
    is_lost: bool = False
    is_oom: bool = False
    error_code: str = ""


ENDS: Mapping[EndKind, _Meaning] = {
    EndKind.SUCCEEDED: _Meaning("its job is over in Slurm, and it left no trace of its end", is_lost=True),
    EndKind.FAILED: _Meaning("its job failed in Slurm before it could say how", is_lost=True),
    EndKind.CANCELLED: _Meaning("its job was cancelled in Slurm"),
    EndKind.TIME_LIMIT: _Meaning(
        "Slurm ended its job at the limit of the partition or the job", error_code=ENGINE_LIMIT
    ),
    EndKind.OUT_OF_MEMORY: _Meaning("its job used more memory than it asked for", is_oom=True),
    EndKind.NODE_FAILURE: _Meaning("a node of its job failed", is_lost=True),
    EndKind.PREEMPTED: _Meaning("Slurm preempted its job", error_code=PREEMPTED),
    EndKind.LAUNCH_FAILURE: _Meaning("Slurm could not launch its job", error_code=ENGINE_START),
}


def job_facts(record: JobRecord) -> JobFacts:
    job = str(record.submitted_id)
    if record.restarts and record.state.phase is not JobPhase.ENDED:
        # Its tasks run once. What Slurm starts again ends at once, and Muster decides about another attempt.
        return JobFacts(job, end=_requeued(record), is_left=True)
    match record.state.phase:
        case JobPhase.WAITING | JobPhase.STARTING:
            why = wait_reason(record.reason or "None")
            reason = f"{why.sentence} ({why.code})"
            is_stuck = not why.starts_by_itself
            return JobFacts(job, is_waiting=True, reason=reason, starts_at=record.starts_at, needs_action=is_stuck)
        case JobPhase.RUNNING | JobPhase.ENDING:
            part_end = _end(record.ended_part) if record.ended_part is not None else None
            return JobFacts(job, is_allocated=True, held=record.held, part_end=part_end)
        case JobPhase.ENDED:
            return JobFacts(job, end=_end(record))


def _requeued(record: JobRecord) -> JobEnd:
    """Slurm says why in its reason, or by a state of the run before. It does not tell a preemption from somebody who
    requeues a job when neither says it, which only happens if somebody has allowed Slurm to requeue this one."""
    before = {word.upper() for word in record.words}
    if _NODE_FAILED & before:
        return JobEnd(is_lost=True, message="a node of its job failed, and Slurm has requeued it")
    if _LAUNCH_FAILED.search(record.reason):
        return JobEnd(error_code=ENGINE_START, message=f"Slurm has requeued its job and holds it ({record.reason})")
    if _PREEMPTED & before:
        return JobEnd(error_code=PREEMPTED, message="Slurm preempted its job, and has requeued it")
    return JobEnd(error_code=REQUEUED, message=_requeued_by_somebody(record))


def _requeued_by_somebody(record: JobRecord) -> str:
    return f"job {record.submitted_id} was requeued in Slurm, which does not say by whom"


def _end(record: JobRecord) -> JobEnd:
    kind = record.state.end or EndKind.FAILED
    meaning = ENDS[kind]
    if record.exit is not None and record.exit.code == SECOND_START and kind is EndKind.FAILED:
        return JobEnd(record.ended_at, error_code=REQUEUED, message=_requeued_by_somebody(record))
    if record.exit is not None and record.exit.code == NO_LOGIN_NODE and kind is EndKind.FAILED:
        words = f"the batch script of job {record.submitted_id} could not connect to it"
        return JobEnd(record.ended_at, error_code=LOGIN_UNREACHABLE, message=words)
    return JobEnd(
        at=record.ended_at,
        is_lost=meaning.is_lost,
        is_oom=meaning.is_oom or bool(record.exit is not None and record.exit.is_oom),
        error_code=meaning.error_code,
        message=f"{meaning.message} ({record.state.name})",
        cancelled=_cancelled(record) if kind is EndKind.CANCELLED else "",
        node_problem="",
        is_plain=kind in (EndKind.SUCCEEDED, EndKind.FAILED),
        unless_begun=_unless_begun(record, kind),
    )


def _unless_begun(record: JobRecord, kind: EndKind) -> JobEnd | None:
    why = ENDED_BY.get(record.exit.code or 0) if record.exit is not None else None
    if kind is EndKind.FAILED and why is not None:
        words = f"the batch script of job {record.submitted_id} has failed, as {why}"
        return JobEnd(record.ended_at, error_code=ENGINE_START, message=words)
    return _given_up(record) if kind is EndKind.CANCELLED else None


def _given_up(record: JobRecord) -> JobEnd | None:
    """Slurm cancels a job itself, in the name of root, if it may not be requeued and a prolog fails. It has had nodes
    then, and its batch script was neither run nor killed."""
    who = _who_cancelled(record)
    if not record.nodes or who not in (None, 0) or record.exit != JobExit(0):
        return None
    words = f"Slurm gave job {record.submitted_id} up on {', '.join(record.nodes)} before it started"
    return JobEnd(record.ended_at, error_code=ENGINE_START, message=f"{words}; a prolog of the cluster has failed")


def _who_cancelled(record: JobRecord) -> int | None:
    return next((uid for uid in map(cancelled_by, record.words) if uid is not None), None)


def _cancelled(record: JobRecord) -> str:
    who = _who_cancelled(record)
    by = f" by the user with the number {who}" if who is not None else ""
    return f"its job {record.submitted_id} was cancelled in Slurm{by}"
