"""Environments in the API: their shapes, and what is made of them."""

from typing import Any

from pydantic import Field

from muster.ports.environments import FrameworkTrial, Trial
from muster.wire.schemas import Shape


class EnvironmentOut(Shape):
    cluster: str
    kind: str = Field(description="conda, venv or image: the key of `runtime` that takes the name.")
    name: str
    path: str
    python: str = Field(description="Empty where only a test would tell.")
    frameworks: dict[str, str] = Field(description="Name → version.")
    nodes: list[str] = Field(description="Where it is just so.")


class EnvironmentList(Shape):
    items: list[EnvironmentOut]
    problems: list[str] = Field(description="What could not be looked at.")


class EnvironmentTestIn(Shape):
    name: str = Field(min_length=1, max_length=4096, description="As the list shows it.")
    cluster: str | None = Field(
        None, max_length=253, description="If absent the server's default, or the one that has it."
    )
    node: str | None = Field(None, max_length=253, description="All nodes that offer it if absent.")


class FrameworkTestOut(Shape):
    name: str
    version: str
    ok: bool
    gpus: int | None = Field(description="Cards that it saw; null if it was given none to see.")
    error: str


class EnvironmentTestOut(Shape):
    node: str
    kind: str
    name: str
    ok: bool
    python: str
    card: int | None = Field(description="The card that it was let see; null if none was free.")
    error: str
    frameworks: list[FrameworkTestOut]


class EnvironmentTestList(Shape):
    items: list[EnvironmentTestOut]


def trial_view(trial: Trial) -> dict[str, Any]:
    frameworks = [_framework_view(one) for one in trial.frameworks]
    return {
        "node": trial.node,
        "kind": str(trial.environment.kind),
        "name": trial.environment.name,
        "ok": not trial.error and all(one["ok"] for one in frameworks),
        "python": trial.python,
        "card": trial.card,
        "error": trial.error,
        "frameworks": frameworks,
    }


def _framework_view(one: FrameworkTrial) -> dict[str, Any]:
    is_blind = one.gpus == 0
    return {
        "name": one.name,
        "version": one.version,
        "ok": not one.error and not is_blind,
        "gpus": one.gpus,
        "error": one.error or ("it does not see the card" if is_blind else ""),
    }
