"""Asks Slurm about all jobs at once, now and then about nodes, and reads its answers."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.backends.slurm.job_facts import JobFacts, job_facts
from muster.backends.slurm.job_records import JobRecord, first_parts
from muster.backends.slurm.job_tables import past_command, queue_command, read_past, read_queue
from muster.backends.slurm.node_tables import (
    NODES_COMMAND,
    PARTITIONS_COMMAND,
    NodeRecord,
    PartitionRecord,
    read_nodes,
    read_partitions,
)
from muster.domain.errors import BackendError, Unreachable

AskSlurm = Callable[[Sequence[Sequence[str]]], Awaitable[Sequence[Mapping[str, Any]]]]
_SETTLE_S = 3.0
"""How long after a job's end the marks of its tasks may still be on their way over a shared file system."""


@dataclass(frozen=True, slots=True)
class Jobs:
    by_id: Mapping[str, JobFacts] = field(default_factory=dict)

    def get(self, job: str) -> JobFacts | None:
        """None if Slurm does not know it."""
        return self.by_id.get(job)

    def is_fresh(self, job: str, now: float) -> bool:
        """Whether the job ended a moment ago."""
        found = self.by_id.get(job)
        at = found.end.at if found is not None and found.end is not None else None
        return at is not None and now - at < _SETTLE_S


@dataclass(frozen=True, slots=True)
class Machines:
    nodes: tuple[NodeRecord, ...]
    partitions: tuple[PartitionRecord, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    jobs: Jobs
    machines: Machines | None = None


async def ask_all(ask: AskSlurm, jobs: Mapping[str, str], *, with_machines: bool) -> Answer:
    """One squeue for all jobs, and sacct for those that the controller has forgotten. `jobs` are their numbers, with
    their names: a job of another name is somebody else's."""
    commands = [*([queue_command([*jobs])] if jobs else [])]
    commands += [[*NODES_COMMAND], [*PARTITIONS_COMMAND]] if with_machines else []
    answers = list(await ask(commands)) if commands else []
    found: dict[str, JobFacts] = {}
    if jobs:
        found = _facts(read_queue(_text(answers.pop(0))), jobs)
        forgotten = {job: name for job, name in jobs.items() if job not in found}
        if forgotten:
            found |= await _past(ask, forgotten)
    machines = None
    if with_machines:
        machines = Machines(tuple(read_nodes(_text(answers[0]))), tuple(read_partitions(_text(answers[1]))))
    return Answer(Jobs(found), machines)


async def _past(ask: AskSlurm, jobs: Mapping[str, str]) -> dict[str, JobFacts]:
    """Without accounting sacct fails, and nobody knows more."""
    (answer,) = await ask([past_command([*jobs])])
    return _facts(read_past(str(answer["out"])), jobs) if answer["code"] == 0 else {}


def _facts(records: Iterable[JobRecord], names: Mapping[str, str]) -> dict[str, JobFacts]:
    found = {str(number): record for number, record in first_parts(records).items()}
    return {job: job_facts(record) for job, record in found.items() if names.get(job) == record.name}


def _text(answer: Mapping[str, Any]) -> str:
    if answer["code"] == 0:
        return str(answer["out"])
    said = " ".join(str(answer["err"]).split())
    if "invalid job id" in said.lower():
        return ""
    raise (Unreachable if answer["away"] else BackendError)(f"Slurm does not answer: {said}")
