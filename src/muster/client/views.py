"""What the server answered about jobs, typed and frozen. `node_views`, `account_views` and others have the rest.

Each view is read from an entity of `muster.api` and keeps it in `raw`, so that no key of a newer server is lost; a key
that an older server does not send becomes an empty value. The entities are imported for type checking only, so that the
command line spends no time on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from muster.api.events import EventOut
    from muster.api.explanations import AttemptOut, ExplainOut, FaultOut, ReasonOut, WhatIfOut
    from muster.api.jobs import JobOut, TaskOut

FINAL_STATES = frozenset({"Succeeded", "Failed", "Cancelled"})
FINAL_TASK_STATES = frozenset({"Succeeded", "Failed", "Stopped", "Lost"})

Raw = Mapping[str, Any]


def instant(text: str | None) -> datetime | None:
    """Parses an ISO-8601 time of the API; None for an absent one."""
    return datetime.fromisoformat(text) if text else None


@dataclass(frozen=True, slots=True)
class JobView:
    id: str
    name: str
    owner: str
    state: str
    mode: str
    cluster: str
    vc: str
    attempt: int
    preemptions: int
    succeeded: int
    failed: int
    active: int
    tasks: int
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    run_time_s: float
    """How long all attempts ran that have ended."""
    running_since: datetime | None
    reason: str
    raw: Raw = field(repr=False)

    @property
    def origin(self) -> str:
        """`muster`, or the engine of its cluster, such as `kubernetes`, in which somebody made it."""
        return str(self.raw.get("origin") or "muster")

    @property
    def ended(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def ok(self) -> bool:
        """Whether the job succeeded."""
        return self.state == "Succeeded"

    @classmethod
    def of(cls, raw: "JobOut") -> Self:
        return cls(
            id=raw["id"],
            name=raw["name"],
            owner=raw.get("owner") or "",
            state=raw["state"],
            mode=raw["mode"],
            cluster=raw.get("cluster") or "",
            vc=raw.get("vc") or "",
            attempt=raw.get("attempt") or 0,
            preemptions=raw.get("preemptions") or 0,
            succeeded=raw.get("succeeded") or 0,
            failed=raw.get("failed") or 0,
            active=raw.get("active") or 0,
            tasks=raw.get("tasks") or 0,
            created_at=instant(raw.get("createdAt")),
            started_at=instant(raw.get("startedAt")),
            ended_at=instant(raw.get("endedAt")),
            run_time_s=raw.get("runTimeS") or 0.0,
            running_since=instant(raw.get("runningSince")),
            reason=raw.get("reason") or "",
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class TaskView:
    """`wait_reason` and `estimated_start` are what the cluster's own engine says of a task that is `Waiting` in its
    queue."""

    id: str
    name: str
    role: str
    index: int
    state: str
    node: str
    attempt: int
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    signal: int | str | None
    reason: str
    wait_reason: str
    estimated_start: datetime | None
    raw: Raw = field(repr=False)

    @property
    def ended(self) -> bool:
        return self.state in FINAL_TASK_STATES

    @property
    def short_name(self) -> str:
        """The name within its job, such as `worker-0`."""
        return f"{self.role}-{self.index}"

    @classmethod
    def of(cls, raw: "TaskOut") -> Self:
        return cls(
            id=raw.get("id") or "",
            name=raw["name"],
            role=raw.get("role") or "",
            index=raw.get("index") or 0,
            state=raw["state"],
            node=raw.get("node") or "",
            attempt=raw.get("attempt") or 0,
            started_at=instant(raw.get("startedAt")),
            ended_at=instant(raw.get("endedAt")),
            exit_code=raw.get("exitCode"),
            signal=raw.get("signal"),
            reason=raw.get("reason") or "",
            wait_reason=raw.get("waitReason") or "",
            estimated_start=instant(raw.get("estimatedStart")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class EventView:
    seq: int
    at: datetime | None
    kind: str
    job_id: str | None
    actor: str
    data: Raw
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "EventOut") -> Self:
        return cls(
            seq=raw["seq"],
            at=instant(raw.get("at")),
            kind=raw["kind"],
            job_id=raw.get("jobId"),
            actor=raw.get("actor") or "",
            data=raw.get("data") or {},
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class ExplanationView:
    """Why a job is where it is: `summary` is one sentence, `fault` the classified cause of a failure, if any."""

    job: str
    state: str
    summary: str
    reasons: "Sequence[ReasonOut]"
    fault: "FaultOut | None"
    evidence: Sequence[str]
    attempts: "Sequence[AttemptOut]"
    next: str
    starts_at: datetime | None
    starts_by: datetime | None
    what_if: "WhatIfOut | None"
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "ExplainOut") -> Self:
        return cls(
            job=raw["job"],
            state=raw["state"],
            summary=raw["summary"],
            reasons=tuple(raw.get("reasons") or ()),
            fault=raw.get("fault"),
            evidence=tuple(raw.get("evidence") or ()),
            attempts=tuple(raw.get("attempts") or ()),
            next=raw.get("next") or "",
            starts_at=instant(raw.get("startsAt")),
            starts_by=instant(raw.get("startsBy")),
            what_if=raw.get("whatIf"),
            raw=raw,
        )
