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
    """The version of Python. It is empty if it can be found only by running the environment."""
    frameworks: Mapping[str, str] = field(default_factory=dict)
    """The versions of the installed frameworks, by name."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The environments of one node, and what could not be examined there."""

    node: str
    environments: tuple[Environment, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FrameworkTrial:
    """`gpus` is how many GPUs the framework found. It is None if it was given none, or failed before."""

    name: str
    version: str
    gpus: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    node: str
    environment: Environment
    gpu: int | None
    """The index of the GPU that the test could use, if any."""
    python: str = ""
    error: str = ""
    frameworks: tuple[FrameworkTrial, ...] = ()


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    name: str
    version: str
    source: str
    """`conda` or `python`: who knows it. What conda has installed for Python is known to conda."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is installed in an environment on one node."""

    node: str
    environment: Environment
    python: str = ""
    error: str = ""
    packages: tuple[InstalledPackage, ...] = ()


class Environments(Protocol):
    """Methods raise BackendError if a node does not answer."""

    async def listing(self, node: str, folders: Sequence[str], user: str | None) -> Listing:
        """The environments of the node. Virtual environments are listed for these folders only, and with the rights of
        this user; None stands for admins."""
        ...

    async def test(self, node: str, environment: Environment, gpu: int | None, user: str) -> Trial:
        """Import each of its frameworks and find out which GPUs it can use. This takes a minute at most."""
        ...

    async def packages(self, node: str, environment: Environment, user: str) -> Inventory:
        """What is installed in it, as its own Python says. This takes a minute at most."""
        ...
