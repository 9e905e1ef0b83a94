"""The `sweep:` of a job spec as users write it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from muster.domain.experiments.sweeps import MAX_MEMBERS, Goal, Scale, StopBy

MAX_VALUES = MAX_MEMBERS
MAX_NAMES = 100
MAX_SEED = (1 << 53) - 1
_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"

Name = Annotated[str, Field(pattern=_NAME, max_length=200)]
Value = Annotated[str, Field(max_length=4096)] | bool | int | Annotated[float, Field(allow_inf_nan=False)]
Number = int | Annotated[float, Field(allow_inf_nan=False)]
Values = Annotated[list[Value], Field(min_length=1, max_length=MAX_VALUES)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
Metric = Annotated[str, Field(min_length=1, max_length=250)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=False, frozen=True)


class SpanIn(Strict):
    """Numbers between two bounds, from which a random one is taken."""

    min: Number = Field(description="The lower bound, which may be taken too.")
    max: Number = Field(
        description="The upper bound, which may be taken too. If both bounds are whole numbers, only whole ones are."
    )
    scale: Scale = Field(Scale.LINEAR, description="With `log`, all orders of magnitude are equally likely.")


class StopEarlyIn(Strict):
    """When a running member is stopped because others do better in `metric`."""

    by: StopBy = Field(
        description="`median`: its best value so far is worse than the median of the others at that step. `halving`:"
        " at steps that grow by `factor`, it is not among the best 1/`factor`."
    )
    after_step: int = Field(1, ge=0, le=1 << 53, description="No member is stopped before this step.")
    members: int = Field(
        3, ge=1, le=MAX_MEMBERS, description="So many members must have come to a step before one is stopped at it."
    )
    factor: int = Field(3, ge=2, le=100, description="Only for `halving`.")


class SweepIn(Strict):
    """Many jobs that differ in their params. Exactly one of `grid`, `random` and `list` is there, or only `seeds`."""

    grid: dict[Name, Values] | None = Field(
        None, min_length=1, max_length=MAX_NAMES, description="Values by param; every combination is a member."
    )
    random: dict[Name, Values | SpanIn] | None = Field(
        None,
        min_length=1,
        max_length=MAX_NAMES,
        description="For each param values, or bounds with `min` and `max`, of which each member gets a random one.",
    )
    samples: int | None = Field(None, ge=1, le=MAX_MEMBERS, description="With `random`: how many there are.")
    seed: Seed | None = Field(
        None, description="With `random`: the same seed gives the same values. By default, it is a random number."
    )
    listed: Annotated[list[dict[Name, Value]], Field(min_length=1, max_length=MAX_MEMBERS)] | None = Field(
        None, alias="list", description="The params of each member."
    )
    seeds: int | Annotated[list[Seed], Field(min_length=1, max_length=MAX_MEMBERS)] | None = Field(
        None,
        description="Run each of them with these seeds, which members get as `params.seed`; a number N means 1 to N.",
    )
    max_running: int | None = Field(
        None, ge=1, le=MAX_MEMBERS, description="So many members are in the queue or run at once, at most."
    )
    metric: Metric | None = Field(None, description="The metric that says which member is the best.")
    goal: Goal | None = Field(None, description="Whether the smallest value of `metric` is the best, or the largest.")
    stop_early: StopEarlyIn | None = Field(None, description="Stop members that do worse than others.")
