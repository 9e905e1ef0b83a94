"""Sweeps and their members, as the client shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from muster.client.views import instant

if TYPE_CHECKING:
    from muster.api.sweeps import SweepMemberOut, SweepOut

_OPEN = ("Queued", "Running", "Stopping")
_ACTIVE = ("Starting", "Running", "Stopping")


@dataclass(frozen=True, slots=True)
class SweepView:
    id: str
    name: str
    owner: str
    state: str
    members: int
    made: int
    counts: Mapping[str, int]
    metric: str
    goal: str | None
    created_at: datetime | None
    ended_at: datetime | None
    best: Mapping[str, Any] | None
    raw: Any = field(repr=False)

    @property
    def ended(self) -> bool:
        return self.state not in _OPEN

    @property
    def succeeded(self) -> int:
        return self.counts.get("Succeeded", 0)

    @property
    def failed(self) -> int:
        return self.counts.get("Failed", 0)

    @property
    def cancelled(self) -> int:
        return self.counts.get("Cancelled", 0)

    @property
    def active(self) -> int:
        return sum(self.counts.get(state, 0) for state in _ACTIVE)

    @property
    def waiting(self) -> int:
        """Members in the queue, and those that are still to be made."""
        to_come = self.members - self.made - self.never_made
        return self.counts.get("Queued", 0) + self.counts.get("Held", 0) + to_come

    @property
    def never_made(self) -> int:
        """Members that will never be jobs, because the sweep was stopped before."""
        return self.members - self.made if self.ended or self.state == "Stopping" else 0

    @property
    def deleted(self) -> int:
        """Members that are jobs no more."""
        return max(0, self.made - sum(self.counts.values()))

    @classmethod
    def of(cls, raw: "SweepOut") -> Self:
        return cls(
            id=raw["id"],
            name=raw["name"],
            owner=raw["owner"],
            state=raw["state"],
            members=int(raw["members"]),
            made=int(raw["made"]),
            counts=dict(raw.get("counts") or {}),
            metric=raw.get("metric") or "",
            goal=raw.get("goal"),
            created_at=instant(raw.get("createdAt")),
            ended_at=instant(raw.get("endedAt")),
            best=raw.get("best"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class MemberView:
    member: int
    name: str
    job: str
    state: str
    params: Mapping[str, Any]
    started_at: datetime | None
    ended_at: datetime | None
    reason: str
    value: float | None
    step: int | None
    has_diverged: bool
    """Whether its newest value of the metric is not a finite number."""
    raw: Any = field(repr=False)

    @classmethod
    def of(cls, raw: "SweepMemberOut") -> Self:
        return cls(
            member=int(raw["member"]),
            name=raw["name"],
            job=raw["job"],
            state=raw["state"],
            params=dict(raw.get("params") or {}),
            started_at=instant(raw.get("startedAt")),
            ended_at=instant(raw.get("endedAt")),
            reason=raw.get("reason") or "",
            value=raw.get("value"),
            step=raw.get("step"),
            has_diverged=bool(raw.get("diverged")),
            raw=raw,
        )
