"""Environments that clusters offer to jobs, and what a test of one found, as the API answers them."""

from typing import Annotated, TypedDict


class EnvironmentOut(TypedDict):
    cluster: str
    kind: Annotated[str, "conda, venv or image: the key of `runtime` that takes the name."]
    name: str
    path: str
    python: Annotated[str, "Empty where only a test would tell."]
    frameworks: Annotated[dict[str, str], "Name → version."]
    nodes: Annotated[list[str], "Where it is just so."]


class EnvironmentList(TypedDict):
    items: list[EnvironmentOut]
    problems: Annotated[list[str], "What could not be looked at."]


class FrameworkTestOut(TypedDict):
    name: str
    version: str
    ok: bool
    gpus: Annotated[int | None, "Cards that it saw; null if it was given none to see."]
    error: str


class EnvironmentTestOut(TypedDict):
    node: str
    kind: str
    name: str
    ok: bool
    python: str
    card: Annotated[int | None, "The card that it was let see; null if none was free."]
    error: str
    frameworks: list[FrameworkTestOut]


class EnvironmentTestList(TypedDict):
    items: list[EnvironmentTestOut]
