"""What the server answered, typed and frozen.

Each view is read from an entity of `muster.api` and keeps it in `raw`, so that no key of a newer server is lost; a key
that an older server does not send becomes an empty value. The entities are imported for type checking only, so that the
command line spends no time on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, cast

from muster.lib.quantities import parse_cpu

if TYPE_CHECKING:
    from muster.api.accounts import NewTokenOut, TokenOut, UserOut
    from muster.api.events import EventOut
    from muster.api.explanations import AttemptOut, ExplainOut, FaultOut, ReasonOut, WhatIfOut
    from muster.api.jobs import JobOut, TaskOut
    from muster.api.nodes import AccessOut, ClusterOut, GpuOut, IsolationOut, NodeOut
    from muster.api.secrets import SecretOut

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
class NodeView:
    """CPU is in cores and memory in bytes; `used` is what tasks were allocated, not what they consume."""

    name: str
    cluster: str
    state: str
    cpu_total: float
    cpu_used: float
    memory_total: int
    memory_used: int
    gpus: "Sequence[GpuOut]"
    tasks: int
    note: str
    labels: Mapping[str, str]
    alerts: Sequence[str]
    since: datetime | None
    raw: Raw = field(repr=False)

    @property
    def gpus_used(self) -> float:
        return sum(float(gpu.get("used", bool(gpu.get("job")))) for gpu in self.gpus)

    @classmethod
    def of(cls, raw: "NodeOut") -> Self:
        cpu, memory = raw["cpu"], raw["memory"]
        return cls(
            name=raw["name"],
            cluster=raw.get("cluster") or "",
            state=raw["state"],
            cpu_total=parse_cpu(cpu["total"]) / 1000,
            cpu_used=parse_cpu(cpu["used"]) / 1000,
            memory_total=memory["total"],
            memory_used=memory["used"],
            gpus=tuple(raw.get("gpus") or ()),
            tasks=raw.get("tasks") or 0,
            note=raw.get("note") or "",
            labels=dict(raw.get("labels") or {}),
            alerts=tuple(raw.get("alerts") or ()),
            since=instant(raw.get("since")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class ClusterView:
    """`capabilities` is what can be done there; `placement` says who chooses nodes: `muster` or `engine`."""

    name: str
    backend: str
    default: bool
    nodes: int
    state: str
    capabilities: Sequence[str]
    placement: str
    isolation: "IsolationOut | None"
    access: "AccessOut | None"
    """Who may use it. Only admins see it."""
    storages: Sequence[str]
    """What jobs can mount by `storage`."""
    notes: Sequence[str]
    """What it offers less than it could, and why."""
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "ClusterOut") -> Self:
        return cls(
            name=raw["name"],
            backend=raw.get("backend") or "",
            default=bool(raw.get("default")),
            nodes=raw.get("nodes") or 0,
            state=raw.get("state") or "",
            capabilities=tuple(raw.get("capabilities") or ()),
            placement=raw.get("placement", "muster"),
            isolation=raw.get("isolation"),
            access=raw.get("access"),
            storages=tuple(raw.get("storages") or ()),
            notes=tuple(raw.get("notes") or ()),
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


@dataclass(frozen=True, slots=True)
class UserView:
    name: str
    role: str
    disabled: bool
    groups: Sequence[str]
    created_at: datetime | None
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "UserOut") -> Self:
        return cls(
            name=raw["name"],
            role=raw.get("role") or "",
            disabled=bool(raw.get("disabled")),
            groups=tuple(raw.get("groups") or ()),
            created_at=instant(raw.get("createdAt")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class SecretView:
    """A secret without its value, which cannot be read."""

    name: str
    owner: str
    kind: str
    size_bytes: int
    created_at: datetime | None
    updated_at: datetime | None
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "SecretOut") -> Self:
        return cls(
            name=raw["name"],
            owner=raw.get("owner") or "",
            kind=raw.get("kind") or "",
            size_bytes=int(raw.get("sizeBytes") or 0),
            created_at=instant(raw.get("createdAt")),
            updated_at=instant(raw.get("updatedAt")),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class TokenView:
    """`secret` is set only in the answer that created the token."""

    id: str
    name: str
    user: str
    created_at: datetime | None
    expires_at: datetime | None
    last_used_at: datetime | None
    secret: str | None = field(repr=False)
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "TokenOut | NewTokenOut") -> Self:
        return cls(
            id=raw["id"],
            name=raw.get("name") or "",
            user=raw.get("user") or "",
            created_at=instant(raw.get("createdAt")),
            expires_at=instant(raw.get("expiresAt")),
            last_used_at=instant(raw.get("lastUsedAt")),
            secret=cast("NewTokenOut", raw).get("secret"),
            raw=raw,
        )
