"""Environments that clusters offer to jobs, and what a test of one found, as the API answers them."""

from typing import Annotated, TypedDict


class EnvironmentOut(TypedDict):
    cluster: str
    kind: Annotated[str, "conda, venv or image: the key of `runtime` that takes the name."]
    name: str
    path: str
    python: Annotated[str, "Its version; empty if only a test can find out."]
    frameworks: Annotated[dict[str, str], "The version of each framework by its name."]
    nodes: Annotated[list[str], "The nodes that have it in exactly this form."]


class EnvironmentList(TypedDict):
    items: list[EnvironmentOut]
    problems: Annotated[list[str], "What could not be inspected."]


class InstalledPackageOut(TypedDict):
    name: str
    version: str
    source: Annotated[str, "conda or python: who knows it."]


class EnvironmentPackagesOut(TypedDict):
    """What is installed in an environment on one node."""

    node: str
    kind: str
    name: str
    python: str
    error: str
    packages: list[InstalledPackageOut]


class EnvironmentPackagesList(TypedDict):
    items: list[EnvironmentPackagesOut]


class FrameworkTestOut(TypedDict):
    name: str
    version: str
    ok: bool
    gpus: Annotated[int | None, "How many GPUs it saw; null if it was given none."]
    error: str


class EnvironmentTestOut(TypedDict):
    node: str
    kind: str
    name: str
    ok: bool
    python: str
    card: Annotated[int | None, "The index of the GPU that it was given; null if none was free."]
    error: str
    frameworks: list[FrameworkTestOut]


class EnvironmentTestList(TypedDict):
    items: list[EnvironmentTestOut]
