"""What a record of Slurm means for the tasks of its job: waiting, running, or an end that they could not write down."""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.agent.batch.bootstrap import NO_LOGIN_NODE
from muster.agent.batch.coordinator import SECOND_START, START_FAILED
from muster.backends.slurm.job_records import Held, JobRecord
from muster.backends.slurm.job_states import EndKind, JobPhase, cancelled_by
from muster.backends.slurm.wait_reasons import wait_reason
from muster.domain.exit_causes import ENGINE_LIMIT, LOGIN_UNREACHABLE, PREEMPTED


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
    held: tuple[Held, ...] = ()
    """What it holds, and where."""


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
    EndKind.LAUNCH_FAILURE: _Meaning("Slurm could not launch its job", error_code=START_FAILED),
}


def job_facts(record: JobRecord) -> JobFacts:
    job = str(record.submitted_id)
    if record.restarts and record.state.phase is not JobPhase.ENDED:
        # Its tasks run once. What Slurm starts again ends at once, and Muster decides about another attempt.
        return JobFacts(job, end=JobEnd(error_code=PREEMPTED, message="Slurm has requeued its job"))
    match record.state.phase:
        case JobPhase.WAITING | JobPhase.STARTING:
            why = wait_reason(record.reason or "None")
            reason = f"{why.sentence} ({why.code})"
            is_stuck = not why.starts_by_itself
            return JobFacts(job, is_waiting=True, reason=reason, starts_at=record.starts_at, needs_action=is_stuck)
        case JobPhase.RUNNING | JobPhase.ENDING:
            return JobFacts(job, is_allocated=True, held=record.held)
        case JobPhase.ENDED:
            return JobFacts(job, end=_end(record))


def _end(record: JobRecord) -> JobEnd:
    kind = record.state.end or EndKind.FAILED
    meaning = ENDS[kind]
    if record.exit is not None and record.exit.code == SECOND_START and kind is EndKind.FAILED:
        return JobEnd(record.ended_at, error_code=PREEMPTED, message="Slurm has requeued its job")
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
    )


def _cancelled(record: JobRecord) -> str:
    who = next((uid for uid in map(cancelled_by, record.words) if uid is not None), None)
    by = f" by the user with the number {who}" if who is not None else ""
    return f"its job {record.submitted_id} was cancelled in Slurm{by}"
