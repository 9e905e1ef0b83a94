"""Asks Slurm about all jobs at once, now and then about nodes, and reads its answers."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from muster.backends.slurm.answers.job_facts import JobFacts, job_facts
from muster.backends.slurm.answers.job_json import queue_json_command, read_queue_json
from muster.backends.slurm.answers.job_records import JobRecord, first_parts
from muster.backends.slurm.answers.job_tables import past_command, queue_command, read_past, read_queue
from muster.backends.slurm.answers.node_tables import (
    NODES_COMMAND,
    PARTITIONS_COMMAND,
    NodeRecord,
    PartitionRecord,
    read_nodes,
    read_partitions,
)
from muster.backends.slurm.answers.versions import offers_json
from muster.domain.errors import BackendError, Unreachable

_log = structlog.get_logger("backends.slurm.queries")
AskSlurm = Callable[[Sequence[Sequence[str]]], Awaitable[Sequence[Mapping[str, Any]]]]
_SETTLE_S = 3.0
"""How long after a job's end the marks of its tasks may still be on their way over a shared file system."""


@dataclass(frozen=True, slots=True)
class Jobs:
    by_id: Mapping[str, JobFacts] = field(default_factory=dict)

    def get(self, job: str) -> JobFacts | None:
        """Returns None if Slurm does not know the job."""
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


class SlurmQueries:
    """`ask` runs commands on the login node. Jobs are asked for as JSON where Slurm offers it. Where it does not, or if
    its JSON cannot be used, they are asked for as text tables, which every release prints."""

    def __init__(self, ask: AskSlurm) -> None:
        self._ask = ask
        self._is_json = False

    def opened(self, version: str) -> None:
        """The login node was connected, and this is what `sbatch --version` says there."""
        self._is_json = offers_json(version)

    async def ask_all(self, jobs: Mapping[str, str], *, with_machines: bool) -> Answer:
        """One squeue for all jobs, and sacct for those that the controller has forgotten, or may have cancelled
        itself. `jobs` are their numbers and
        their names: a job of another name is somebody else's."""
        is_json = self._is_json
        queue = (queue_json_command if is_json else queue_command)([*jobs])
        commands = [*([queue] if jobs else []), *([[*NODES_COMMAND], [*PARTITIONS_COMMAND]] if with_machines else [])]
        answers = list(await self._ask(commands)) if commands else []
        found: dict[str, JobFacts] = {}
        if jobs:
            first = answers.pop(0)
            records = await self._read_json(first, jobs) if is_json else list(read_queue(_text(first)))
            found = _facts(records, jobs)
            forgotten = {job: name for job, name in jobs.items() if job not in found}
            if forgotten:
                found |= await self._past(forgotten)
            if given_up := {job: jobs[job] for job, facts in found.items() if _is_given_up(facts)}:
                found |= await self._past(given_up)  # only accounting knows who cancelled them
        machines = None
        if with_machines:
            machines = Machines(tuple(read_nodes(_text(answers[0]))), tuple(read_partitions(_text(answers[1]))))
        return Answer(Jobs(found), machines)

    async def _read_json(self, answer: Mapping[str, Any], jobs: Mapping[str, str]) -> list[JobRecord]:
        """Jobs that were not asked for show that there will be more of them with every answer."""
        try:
            content = _text(answer)
            records = list(read_queue_json(content)) if content else []
        except Unreachable:
            raise
        except (BackendError, ValueError) as error:
            self._give_json_up(str(error))
            (again,) = await self._ask([queue_command([*jobs])])
            return list(read_queue(_text(again)))
        if not all(str(record.submitted_id) in jobs for record in records):
            self._give_json_up("it lists jobs that were not asked for")
        return records

    def _give_json_up(self, why: str) -> None:
        self._is_json = False
        _log.warning("squeue is asked for text tables from now on: its JSON cannot be used", why=why)

    async def _past(self, jobs: Mapping[str, str]) -> dict[str, JobFacts]:
        """Without accounting sacct fails, and nobody knows more."""
        (answer,) = await self._ask([past_command([*jobs])])
        return _facts(read_past(str(answer["out"])), jobs) if answer["code"] == 0 else {}


def _is_given_up(facts: JobFacts) -> bool:
    return facts.end is not None and facts.end.unless_begun is not None


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
