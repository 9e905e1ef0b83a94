"""Asks Slurm about jobs and nodes, all at once, and reads its answers."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from muster.backends.slurm.cluster_view import ClusterView, SlurmNode
from muster.backends.slurm.job_facts import JobEnd, JobFacts
from muster.backends.slurm.options import SlurmOptions
from muster.domain.errors import BackendError, Unreachable

AskSlurm = Callable[[Sequence[Sequence[str]]], Awaitable[Sequence[Mapping[str, Any]]]]
_SETTLE_S = 3.0
"""How long after a job's end the marks of its tasks may still be on their way over a shared file system."""


@dataclass(frozen=True, slots=True)
class Jobs:
    by_id: Mapping[str, JobFacts] = field(default_factory=dict)

    def get(self, job: str) -> JobFacts | None:
        return self.by_id.get(job)

    def is_fresh(self, job: str, now: float) -> bool:
        """Whether the job ended a moment ago."""
        found = self.by_id.get(job)
        at = found.end.at if found is not None and found.end is not None else None
        return at is not None and now - at < _SETTLE_S


async def ask_jobs(
    ask: AskSlurm, jobs: Sequence[str], view: ClusterView, options: SlurmOptions, now: float
) -> tuple[Jobs, bool]:
    """The jobs, and whether nodes or capacity have changed."""
    queue = ["squeue", "--noheader", "--states=all", "--format=%A|%T|%S|%e|%r", f"--jobs={','.join(jobs)}"]
    nodes = ["scontrol", "--oneliner", "show", "node"]
    answers = await ask([*([queue] if jobs else []), nodes])
    found = Jobs(
        {job.job: job for job in map(_job, answers[0]["out"].splitlines())} if jobs and _text(answers[0]) else {}
    )
    changed = view.update([_node(line) for line in _text(answers[-1]).splitlines() if line.strip()], options)
    return found, changed


def _text(answer: Mapping[str, Any]) -> str:
    if answer["code"] == 0:
        return str(answer["out"])
    said = " ".join(str(answer["err"]).split())
    if "invalid job id" in said.lower():
        return ""
    raise (Unreachable if answer["away"] else BackendError)(f"Slurm does not answer: {said}")


def _job(line: str) -> JobFacts:
    job, state, start, end, reason = line.split("|", 4)
    if state in ("PENDING", "CONFIGURING"):
        return JobFacts(job, True, f"({reason})", _time(start))
    if state in ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT"):
        return JobFacts(job)
    return JobFacts(job, end=_end(state, _time(end)))


def _end(state: str, at: float | None) -> JobEnd:
    if state == "CANCELLED":
        return JobEnd(at, cancelled="it was cancelled in Slurm")
    return JobEnd(at, is_lost=True, message=f"its Slurm job ended as {state}")


def _time(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _node(line: str) -> SlurmNode:
    facts = dict(re.findall(r"(\w+)=(\S*)", line))
    gpus: dict[str, int] = {}
    for type_, count in re.findall(r"gpu:(?:([\w.-]+):)?(\d+)", facts.get("Gres", "")):
        gpus[type_] = gpus.get(type_, 0) + int(count)
    return SlurmNode(
        facts["NodeName"],
        facts.get("NodeAddr", ""),
        int(facts.get("CPUTot", 0)) * 1000,
        int(facts.get("RealMemory", 0)) << 20,
        gpus,
        facts.get("State", ""),
        used_cpu_m=int(facts.get("CPUAlloc", 0)) * 1000,
        used_memory_bytes=int(facts.get("AllocMem", 0)) << 20,
    )
