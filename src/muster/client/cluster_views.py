"""Virtual clusters and quotas as the server answered them, typed and frozen like the views of `views`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from muster.client.errors import Problem, problem_of
from muster.client.views import Raw

if TYPE_CHECKING:
    from muster.api.sharing import QuotaOut, ShareOut, VirtualClusterList, VirtualClusterOut


@dataclass(frozen=True, slots=True)
class VirtualClusterView:
    """`guaranteed`, `max`, `used`, `borrowed` and `lent` are {gpu, gpuModels, cpu, memory}."""

    name: str
    cluster: str
    policy: str
    guaranteed: "ShareOut"
    max: "ShareOut | None"
    used: "ShareOut"
    borrowed: "ShareOut"
    lent: "ShareOut"
    running: int
    waiting: int
    prediction_error: float | None
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "VirtualClusterOut") -> Self:
        return cls(
            name=raw["name"],
            cluster=raw.get("cluster") or "",
            policy=raw.get("policy") or "",
            guaranteed=raw["guaranteed"],
            max=raw.get("max"),
            used=raw["used"],
            borrowed=raw["borrowed"],
            lent=raw["lent"],
            running=raw.get("running") or 0,
            waiting=raw.get("waiting") or 0,
            prediction_error=raw.get("predictionError"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class VirtualClusters:
    """`problems`, for admins only, is what is wrong with the present settings and therefore not in force."""

    items: Sequence[VirtualClusterView]
    problems: Sequence[Problem]
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "VirtualClusterList") -> Self:
        items = tuple(VirtualClusterView.of(item) for item in raw["items"])
        return cls(items, tuple(problem_of(item) for item in raw.get("problems") or ()), raw)


@dataclass(frozen=True, slots=True)
class QuotaView:
    """`user` is empty for a limit of the virtual cluster as a whole; `jobs` names jobs that wait because of the
    limit."""

    vc: str
    user: str
    kind: str
    limit: float
    used: float
    waiting: int
    jobs: Sequence[str]
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "QuotaOut") -> Self:
        return cls(
            vc=raw["vc"],
            user=raw.get("user") or "",
            kind=raw["kind"],
            limit=raw["limit"],
            used=raw.get("used") or 0,
            waiting=raw.get("waiting") or 0,
            jobs=tuple(raw.get("jobs") or ()),
            raw=raw,
        )
