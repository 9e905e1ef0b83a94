"""Metrics that a job reports, as the API takes and answers them. A value that is not finite is one of the texts `NaN`,
`Infinity` and `-Infinity`, because JSON has no such numbers."""

from typing import Annotated, TypedDict


class MetricPointOut(TypedDict):
    step: int
    at: Annotated[str, "When it was reported."]
    value: float | str


class ExtremeOut(TypedDict):
    step: int
    value: float


class MetricOut(TypedDict):
    name: str
    count: Annotated[int, "How many points are stored."]
    last: Annotated[MetricPointOut, "That of the highest step."]
    lowest: Annotated[ExtremeOut | None, "Null if no value is finite."]
    highest: ExtremeOut | None
    points: Annotated[list[MetricPointOut], "The curve, with as many points as were asked for, evenly chosen."]


class JobMetricsOut(TypedDict):
    id: str
    attempt: int
    metrics: list[MetricOut]
    room: Annotated[int, "How many more points of this job are stored, in all its attempts."]
