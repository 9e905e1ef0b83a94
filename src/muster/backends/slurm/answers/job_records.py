"""One job as Slurm describes it, whichever command did."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muster.backends.slurm.answers.amounts import Amounts
from muster.backends.slurm.answers.exit_codes import JobExit
from muster.backends.slurm.answers.job_states import EndKind, JobPhase, JobState, job_state

_BY_ITSELF = (None, EndKind.SUCCEEDED, EndKind.FAILED)
"""How a part of a job ends that nobody has ended."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a job, or one part of a heterogeneous job, has been given on all of these nodes together."""

    nodes: tuple[str, ...]
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class JobRecord:
    job_id: int
    """Every part of a heterogeneous job and every task of an array that has begun has a number of its own."""
    words: tuple[str, ...]
    """The words for its state: one in a text table, all of them in JSON."""
    het_job_id: int | None = None
    het_offset: int | None = None
    array_job_id: int | None = None
    array_tasks: str = ""
    """`3`, or `4-9%2` for the tasks that have not begun."""
    name: str = ""
    comment: str = ""
    user: str = ""
    partition: str = ""
    reason: str = ""
    submitted_at: float | None = None
    starts_at: float | None = None
    """When it started, or when Slurm expects to start it."""
    ended_at: float | None = None
    nodes: tuple[str, ...] = ()
    exit: JobExit | None = None
    """Like `ended_at`, it is None until the job is over, whatever Slurm shows before."""
    restarts: int = 0
    held: tuple[Held, ...] = ()
    """Empty unless it holds nodes now."""
    ended_part: "JobRecord | None" = None
    """Another part of the heterogeneous job, which somebody has ended: who cancels one part leaves the others."""

    def __post_init__(self) -> None:
        """Slurm shows the end of its time as the end of a running job, and 0 as the exit code of a waiting one."""
        if self.state.phase is not JobPhase.ENDED:
            object.__setattr__(self, "ended_at", None)
            object.__setattr__(self, "exit", None)
        if not self.nodes or self.state.phase not in (JobPhase.STARTING, JobPhase.RUNNING, JobPhase.ENDING):
            object.__setattr__(self, "held", ())

    @property
    def state(self) -> JobState:
        return job_state(self.words)

    @property
    def submitted_id(self) -> int:
        """The number that sbatch printed."""
        return self.het_job_id or self.array_job_id or self.job_id


def first_parts(records: Iterable[JobRecord]) -> dict[int, JobRecord]:
    """The records by the number that sbatch printed. Of a heterogeneous job the first part has the batch script, and
    counts; its nodes are those of all parts."""
    found: dict[int, list[JobRecord]] = {}
    for record in records:
        found.setdefault(record.submitted_id, []).append(record)
    return {number: _joined(parts) for number, parts in found.items()}


def _joined(parts: list[JobRecord]) -> JobRecord:
    parts = sorted(parts, key=lambda part: (part.het_offset or 0, part.job_id))
    if len(parts) == 1 or parts[0].het_job_id is None:
        return parts[0]
    nodes = dict.fromkeys(node for part in parts for node in part.nodes)
    ended = next((part for part in parts[1:] if part.state.end not in _BY_ITSELF), None)
    return replace(
        parts[0], nodes=tuple(nodes), held=tuple(held for part in parts for held in part.held), ended_part=ended
    )
