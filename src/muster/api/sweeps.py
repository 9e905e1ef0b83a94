"""Sweeps and their members, as the API answers them."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from muster.api.dry_runs import DryRunOut
from muster.api.jobs import JobOut, JobStateName

SweepStateName = Literal["Queued", "Running", "Stopping", "Succeeded", "Failed", "Cancelled"]


class BestOut(TypedDict):
    """The member with the best value of the sweep's metric so far."""

    member: int
    job: Annotated[str, "Its id."]
    name: str
    value: float
    step: int
    params: dict[str, Any]


class SweepOut(TypedDict):
    id: str
    name: str
    owner: str
    state: SweepStateName
    members: Annotated[int, "How many there are in all."]
    made: Annotated[int, "How many of them are jobs by now."]
    counts: Annotated[dict[str, int], "How many members are in each state. Jobs that were deleted are not among them."]
    waitsFor: Annotated[str, "Why the rest of the members is not made yet; empty if there is nothing to say."]
    maxRunning: int | None
    metric: str
    goal: Literal["min", "max"] | None
    seed: Annotated[int | None, "What the random values follow from."]
    params: Annotated[list[str], "The params that members differ in."]
    createdAt: str
    endedAt: str | None
    stoppedBy: str
    best: NotRequired[Annotated[BestOut | None, "Only if the sweep has a metric, and only for those who may read it."]]


class SweepPage(TypedDict):
    items: list[SweepOut]
    nextCursor: NotRequired[str | None]


class SweepMemberOut(TypedDict):
    member: int
    name: str
    job: Annotated[str, "The id of the job."]
    state: JobStateName
    params: Annotated[dict[str, Any], "Those that the sweep sets."]
    createdAt: str
    startedAt: str | None
    endedAt: str | None
    reason: str
    value: NotRequired[Annotated[float | None, "Its best value of the metric so far."]]
    step: NotRequired[int | None]
    diverged: NotRequired[Annotated[bool, "Whether its newest value of the metric is not a finite number."]]


class SweepMemberPage(TypedDict):
    items: list[SweepMemberOut]
    nextMember: NotRequired[Annotated[int | None, "Pass it as `after` to get the next page."]]


class PlannedMemberOut(TypedDict):
    member: int
    name: str
    params: dict[str, Any]


class SweepDryRunOut(TypedDict):
    name: str
    members: Annotated[int, "How many there would be."]
    params: list[str]
    seed: Annotated[int | None, "With random values: what they would follow from. Write it into the file to keep them."]
    first: Annotated[list[PlannedMemberOut], "The first few of them."]
    job: JobOut
    run: Annotated[DryRunOut, "What would be started for the first member."]
