"""What jobs used, as the API answers it. What nobody measured is null."""

from typing import Annotated, TypedDict


class UseOut(TypedDict):
    cpuS: Annotated[float | None, "CPU seconds of all cores."]
    meanCores: Annotated[float | None, "The mean over the run time; of several tasks, all of them together."]
    peakCores: Annotated[float | None, "The peak between two samples; of several tasks, that of the busiest one."]
    peakMemoryBytes: Annotated[int | None, "The peak; of several tasks, that of the largest one."]
    gpuPercent: Annotated[float | None, "How busy its GPUs were on average."]
    peakGpuPercent: float | None
    peakGpuMemoryBytes: Annotated[int | None, "The peak on one GPU."]
    energyJ: Annotated[float | None, "The energy that its GPUs used, in joules."]
    sampled: Annotated[bool, "CPU and memory are known from samples only, so that short peaks are missing."]


class GpuUseOut(TypedDict):
    """One GPU of a task. The figures are those of the whole device, also if the task shares it."""

    index: int
    meanPercent: float | None
    peakPercent: float | None
    meanMemoryBytes: int | None
    peakMemoryBytes: int | None
    energyJ: float | None


class AskedOut(TypedDict):
    cores: float
    memoryBytes: int
    gpus: float


class TaskUseOut(TypedDict):
    id: str
    name: str
    role: str
    state: str
    node: str
    runS: float
    asked: AskedOut
    used: UseOut | None
    gpus: list[GpuUseOut]


class AttemptUseOut(TypedDict):
    attempt: int
    waitS: Annotated[float | None, "Until its first task started; null while none has."]
    runS: float
    gpuHours: Annotated[float, "The hours for which its GPUs were allocated to tasks that ran."]
    used: UseOut
    tasks: list[TaskUseOut]


class GpuHistoryOut(TypedDict):
    """One GPU of a task over time. The figures are those of the whole device, also if the task shares it."""

    index: int
    percent: list[float | None]
    memoryBytes: list[float | None]
    powerW: list[float | None]


class TaskHistoryOut(TypedDict):
    """What a task used over time. Each list has one value for each time, which is null if nobody measured it."""

    task: str
    worker: Annotated[str, "The task's role and index, such as `worker-0`."]
    node: str
    spanS: Annotated[float, "Each value is the mean over about so many seconds."]
    at: list[str]
    cpuPercent: Annotated[list[float | None], "100 is one core."]
    rssBytes: list[float | None]
    gpuPercent: Annotated[list[float | None], "The mean of its GPUs."]
    gpuMemoryBytes: Annotated[list[float | None], "Of all its GPUs together."]
    powerW: Annotated[list[float | None], "Of all its GPUs together."]
    gpus: list[GpuHistoryOut]


class JobHistoryOut(TypedDict):
    attempt: int
    tasks: Annotated[list[TaskHistoryOut], "Tasks of which there are samples."]


class JobUseOut(TypedDict):
    """What a job used; so far, if it has not ended."""

    id: str
    name: str
    owner: str
    state: str
    waitS: Annotated[float, "How long it waited in all, also between attempts."]
    runS: float
    gpuHours: float
    used: UseOut
    advice: Annotated[str, "A sentence about what it asked for and did not use; empty if all is fine."]
    attempts: list[AttemptUseOut]
