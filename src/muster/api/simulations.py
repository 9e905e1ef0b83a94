"""Simulations, as the API answers them."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict


class VariantOut(TypedDict):
    policy: str
    title: str
    moreGpus: dict[str, int]


class AskedOut(TypedDict):
    cluster: str
    since: str
    until: str
    onlyOwn: bool
    durations: str
    preemptionCost: str
    variants: list[VariantOut]


class SimulatedCurves(TypedDict):
    waitingJobs: Annotated[list[float], "The length of the queue: the mean of each part of the time."]
    busyGpus: list[float]
    waitingGpus: Annotated[list[float], "The GPUs that waiting jobs ask for together."]


class WaitQuantiles(TypedDict):
    shares: Annotated[list[float], "0.5 is the median."]
    seconds: Annotated[list[float], "This share of the jobs waited no longer than so many seconds for a first start."]


class SimulatedRun(TypedDict):
    title: Annotated[str, "`as it was` for what really happened, which is the first one."]
    summary: Annotated[dict[str, Any], "The figures of `muster sim -o json`: mean_queue, p50_queue, utilisation …"]
    waits: WaitQuantiles
    curves: SimulatedCurves


class SimulationResult(TypedDict):
    at: Annotated[list[str], "The times of all curves: the beginnings of equal parts of the time."]
    jobs: int
    runs: list[SimulatedRun]


class SimulationOut(TypedDict):
    id: str
    owner: str
    state: Literal["running", "done", "failed"]
    progress: Annotated[float, "How much of it is done, from 0 to 1."]
    createdAt: str
    endedAt: str | None
    error: Annotated[str, "Why it failed."]
    jobs: Annotated[int, "How many jobs are replayed."]
    running: Annotated[int, "How many of them still run, and are replayed as if they ended now."]
    isCut: Annotated[bool, "Whether older jobs were left out, because there are too many."]
    asked: AskedOut
    result: NotRequired[Annotated[SimulationResult | None, "Null until it is done."]]


class SimulationList(TypedDict):
    items: Annotated[list[SimulationOut], "The newest first, without results."]
