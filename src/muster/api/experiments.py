"""Jobs as experiments, as the API answers them. A value that is not finite is one of the texts `NaN`, `Infinity` and
`-Infinity`."""

from typing import Annotated, TypedDict


class RunMetricOut(TypedDict):
    count: int
    lastStep: int
    last: float | str
    lowest: Annotated[float | None, "Null if no value is finite."]
    highest: float | None


class RunOut(TypedDict):
    id: str
    name: str
    owner: str
    cluster: str
    vc: str
    state: str
    reason: str
    submittedAt: str
    startedAt: str | None
    endedAt: str | None
    ranS: float
    gpuHours: float
    cost: Annotated[float | None, "The GPU hours at the `gpuHourPrice` that its cluster has now; null without a price."]
    peakMemoryBytes: int | None
    gpuPercent: float | None
    energyJ: float | None
    package: Annotated[str | None, "The digest of its package."]
    commit: Annotated[str, "The commit of its code, if it was noted."]
    trackingUrl: str
    params: Annotated[dict[str, str | float | bool], "Those of the spec, and those that the program noted."]
    env: Annotated[dict[str, str], "Empty unless jobs are asked for one by one."]
    environment: Annotated[
        dict[str, str],
        "What it ran in, each if it is known: `image`, `conda` or `venv`, `framework`, and `gpu`, the models of its "
        "GPUs. Empty unless jobs are asked for one by one, or with `environment`.",
    ]
    tags: dict[str, str]
    metrics: dict[str, RunMetricOut]


class RunsOut(TypedDict):
    items: list[RunOut]
    complete: Annotated[bool, "Whether these are all that match, with those of the pages before."]
    nextCursor: Annotated[str | None, "With it, the next page follows; null if there is none."]


class BestOut(TypedDict):
    group: Annotated[
        str | float | bool | None,
        "The value of the parameter, as a number if it is one; null for jobs that do not have it, and without `by`.",
    ]
    runs: int
    value: float
    mean: float
    best: RunOut


class BestsOut(TypedDict):
    metric: str
    by: str | None
    goal: str
    items: Annotated[list[BestOut], "The best group first. Without `by`, each job is a group of its own."]
