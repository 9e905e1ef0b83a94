"""Nodes and clusters as the server answered them, typed and frozen like the views of `views`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Self

from muster.client.views import Raw, instant
from muster.lib.quantities import parse_cpu

if TYPE_CHECKING:
    from muster.api.nodes import AccessOut, ClusterOut, GpuOut, IsolationOut, NodeOut


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
