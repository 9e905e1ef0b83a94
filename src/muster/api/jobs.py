"""Jobs and their tasks, as the API answers them."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

JobStateName = Literal["Queued", "Held", "Starting", "Running", "Stopping", "Succeeded", "Failed", "Cancelled"]
TaskStateName = Literal[
    "Launching", "Waiting", "Preparing", "Running", "Stopping", "Succeeded", "Failed", "Stopped", "Lost"
]
JobMode = Literal["Single", "PS", "Collective"]


class ResourcesOut(TypedDict):
    cpu: str
    memory: str
    gpu: Annotated[float, "0.5 is half of a GPU."]
    gpuType: Annotated[list[str], "The GPU models asked for, in order of preference; an empty list means any."]
    devices: Annotated[dict[str, int], "Devices other than GPUs, by the name of their resource."]


class ExtendedDeviceOut(TypedDict):
    """A device other than a GPU that a task has."""

    resource: str
    index: Annotated[int, "Its place among the node's devices of that resource."]
    paths: Annotated[list[str], "Its device files; empty if the cluster's own engine chooses the device."]


class RoleCountsOut(TypedDict):
    role: str
    replicas: int
    active: int
    succeeded: int
    failed: int


class JobOut(TypedDict):
    id: str
    origin: Annotated[
        str,
        "`muster`; or the engine of its cluster, such as `kubernetes`, if it was made there: it is only shown then.",
    ]
    name: str
    owner: str
    state: JobStateName
    mode: JobMode
    cluster: str
    vc: Annotated[str, "Its virtual cluster; empty if there is none."]
    framework: str
    priority: str
    attempt: int
    retries: int
    preemptions: int
    succeeded: int
    failed: int
    active: int
    tasks: int
    createdAt: str
    startedAt: str | None
    endedAt: str | None
    checkpointAt: Annotated[str | None, "When the current attempt last reported a checkpoint."]
    ranS: Annotated[float, "The run time that was not lost; an attempt counts once it has ended."]
    timeLimit: Annotated[str | None, "A duration such as `2h30m`."]
    reason: str
    labels: dict[str, str]
    resources: ResourcesOut
    version: int
    roles: NotRequired[Annotated[list[RoleCountsOut], "The roles of a job that was not made with Muster."]]


class JobPage(TypedDict):
    items: list[JobOut]
    nextCursor: NotRequired[str | None]


class ContainerCommandOut(TypedDict):
    """How the node's container engine would be called. While that is unknown, `why` says why and the rest is empty."""

    engine: str
    argv: list[str]
    why: str


class RequestOut(TypedDict):
    """What would be started for one task."""

    task: str
    node: str
    argv: list[str]
    env: dict[str, str]
    ports: list[int]
    devices: Annotated[list[int], "The indices of its GPUs."]
    extendedDevices: list[ExtendedDeviceOut]
    image: str | None
    container: ContainerCommandOut | None


class RenderedFileOut(TypedDict):
    """A script or manifest as the cluster's engine would be given it."""

    name: str
    content: str


class DryRunOut(TypedDict):
    job: JobOut
    requests: list[RequestOut]
    files: Annotated[list[RenderedFileOut], "What an engine such as Slurm would be given; none where Muster places."]
    warnings: list[str]


class SpecOut(TypedDict):
    spec: dict[str, Any]


class TaskOut(TypedDict):
    id: str
    name: str
    role: str
    index: int
    rank: int
    attempt: int
    state: TaskStateName
    node: str
    devices: Annotated[list[int], "The indices of its GPUs."]
    extendedDevices: list[ExtendedDeviceOut]
    ports: list[int]
    startedAt: str | None
    endedAt: str | None
    exitCode: int | None
    signal: int | None
    reason: str
    waitReason: NotRequired[Annotated[str | None, "Why the cluster's own engine keeps it waiting, in its words."]]
    estimatedStart: NotRequired[Annotated[str | None, "When that engine expects to start it."]]


class TaskList(TypedDict):
    items: list[TaskOut]
