"""The environments that a cluster's nodes offer to jobs: conda environments, virtual ones, container images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class EnvironmentKind(StrEnum):
    CONDA = "conda"
    VENV = "venv"
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Environment:
    """`name` is what a job writes as `runtime.conda`, `runtime.venv` or `runtime.image`."""

    kind: EnvironmentKind
    name: str
    path: str = ""
    python: str = ""
    """Empty where only running it would tell."""
    frameworks: Mapping[str, str] = field(default_factory=dict)
    """Name → version, of those that are installed."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What one node offers, and what could not be looked at there."""

    node: str
    environments: tuple[Environment, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FrameworkTrial:
    """`gpus` is how many cards it saw; None if it was given none to see, or did not get so far."""

    name: str
    version: str
    gpus: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    node: str
    environment: Environment
    card: int | None
    """The one that it was let see, if any."""
    python: str = ""
    error: str = ""
    frameworks: tuple[FrameworkTrial, ...] = ()


class Environments(Protocol):
    """Errors: BackendError when a node does not answer."""

    async def listing(self, node: str, folders: Sequence[str]) -> Listing:
        """What the node offers; virtual environments of these folders only."""
        ...

    async def test(self, node: str, environment: Environment, card: int | None) -> Trial:
        """Import each of its frameworks and ask what it sees. Takes a minute at most."""
        ...
