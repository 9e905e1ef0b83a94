"""Environments as the server answered them, typed and frozen like the views of `views`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from muster.client.views import Raw

if TYPE_CHECKING:
    from muster.api.environments import (
        EnvironmentList,
        EnvironmentOut,
        EnvironmentPackagesOut,
        EnvironmentTestOut,
        FrameworkTestOut,
        InstalledPackageOut,
    )


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
    def of(cls, raw: "EnvironmentOut") -> Self:
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
    def of(cls, raw: "EnvironmentList") -> Self:
        return cls(tuple(EnvironmentView.of(item) for item in raw["items"]), tuple(raw.get("problems") or ()), raw)


@dataclass(frozen=True, slots=True)
class EnvironmentTestView:
    """`frameworks` are {name, version, ok, gpus, error}; `gpus` is None if it was given no GPU to see."""

    node: str
    name: str
    ok: bool
    python: str
    card: int | None
    error: str
    frameworks: "Sequence[FrameworkTestOut]"
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "EnvironmentTestOut") -> Self:
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


@dataclass(frozen=True, slots=True)
class EnvironmentPackagesView:
    """`packages` are {name, version, source}, in the order of their names."""

    node: str
    name: str
    python: str
    error: str
    packages: "Sequence[InstalledPackageOut]"
    raw: Raw = field(repr=False)

    @classmethod
    def of(cls, raw: "EnvironmentPackagesOut") -> Self:
        return cls(
            node=raw["node"],
            name=raw["name"],
            python=raw.get("python") or "",
            error=raw.get("error") or "",
            packages=tuple(raw.get("packages") or ()),
            raw=raw,
        )
