"""Jobs that another server has handed on, as the API answers that server."""

from typing import Annotated, TypedDict

from muster.api.jobs import JobStateName, TaskStateName


class HandedOnFault(TypedDict):
    kind: str
    code: str
    cause: str


class HandedOnGpuUse(TypedDict):
    index: int
    sampledS: Annotated[float, "The time that the samples cover."]
    meanPercent: float | None
    peakPercent: float | None
    meanMemoryBytes: int | None
    peakMemoryBytes: int | None
    energyJ: float | None


class HandedOnUse(TypedDict):
    """What a task used. What nobody measured is null."""

    cpuS: float | None
    peakCores: float | None
    peakMemoryBytes: int | None
    sampled: Annotated[bool, "CPU and memory are known from samples only, so that short peaks are missing."]
    gpus: list[HandedOnGpuUse]


class HandedOnTask(TypedDict):
    role: str
    index: int
    state: TaskStateName
    node: str
    gpus: Annotated[list[int], "The indices of its GPUs."]
    startedAt: str | None
    endedAt: str | None
    exitCode: int | None
    signal: int | None
    fault: HandedOnFault | None
    waitReason: str
    startsAt: str | None
    needsAction: bool
    used: Annotated[HandedOnUse | None, "Null before its end."]


class HandedOnJob(TypedDict):
    id: str
    job: Annotated[str, "Its id on the server that has handed it on."]
    attempt: Annotated[int, "The attempt there."]
    state: JobStateName
    reason: str
    attempts: Annotated[int, "How often it was begun here; only the first counts."]
    cancelledBy: str | None
    fault: HandedOnFault | None
    checkpointAt: str | None
    trackingUrl: str
    cpu: Annotated[str, "What its tasks hold now."]
    memoryBytes: int
    metricPoints: Annotated[int, "How many points of its metrics are stored, to be read as those of other jobs."]
    roles: Annotated[dict[str, int], "How many tasks it has of each role."]
    tasks: Annotated[list[HandedOnTask], "The tasks of the first attempt; none before it begins."]


class HandedOnList(TypedDict):
    installation: Annotated[str, "The same for all servers on one database, and for no others."]
    reaches: Annotated[list[str], "The installations that this one hands jobs on to, directly and by way of others."]
    user: Annotated[str, "Whose jobs these are: the caller's."]
    tag: Annotated[str, "Names what is answered but for `metricPoints`; send it as `known` to wait for something else."]
    items: list[HandedOnJob]


class HandedOnOut(TypedDict):
    id: str
    isNew: bool
