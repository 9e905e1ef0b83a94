"""Environments as they come back, typed and frozen, as in `views`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from muster.client.views import Raw


@dataclass(frozen=True, slots=True)
class EnvironmentView:
    cluster: str
    kind: str
    name: str
    python: str
    frameworks: Mapping[str, str]
    nodes: Sequence[str]
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: Raw) -> Self:
        return cls(
            cluster=raw.get("cluster") or "",
            kind=raw["kind"],
            name=raw["name"],
            python=raw.get("python") or "",
            frameworks=dict(raw.get("frameworks") or {}),
            nodes=tuple(raw.get("nodes") or ()),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class EnvironmentListing:
    items: Sequence[EnvironmentView]
    problems: Sequence[str]
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: Raw) -> Self:
        return cls(tuple(EnvironmentView.of(item) for item in raw["items"]), tuple(raw.get("problems") or ()), raw)


@dataclass(frozen=True, slots=True)
class EnvironmentTestView:
    """`frameworks` are {name, version, ok, gpus, error}; `gpus` is None where it was given no card to see."""

    node: str
    name: str
    ok: bool
    python: str
    card: int | None
    error: str
    frameworks: Sequence[Raw]
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: Raw) -> Self:
        return cls(
            node=raw["node"],
            name=raw["name"],
            ok=bool(raw.get("ok")),
            python=raw.get("python") or "",
            card=raw.get("card"),
            error=raw.get("error") or "",
            frameworks=tuple(raw.get("frameworks") or ()),
            raw=raw,
        )
