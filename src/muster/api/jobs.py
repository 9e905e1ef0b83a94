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
    frameworkReason: Annotated[str, "Why it is this framework; empty if the job names it, or if there is none to see."]
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
    runTimeS: Annotated[
        float, "How long all attempts ran that have ended, without the time between them, whether or not work was lost."
    ]
    runningSince: Annotated[
        str | None, "When the attempt began to run that is under way, whose time comes on top of `runTimeS`."
    ]
    timeLimit: Annotated[str | None, "A duration such as `2h30m`."]
    reason: str
    reasonCode: Annotated[
        str | None, "The stable code of the reason or of the fault, for pages that say it in another language."
    ]
    reasonNumbers: Annotated[dict[str, Any] | None, "The names and figures in the reason."]
    labels: dict[str, str]
    resources: ResourcesOut
    version: int
    gpuPercent: NotRequired[Annotated[float | None, "How busy its GPUs were on average so far; null if unknown."]]
    peakMemoryBytes: NotRequired[Annotated[int | None, "The most memory that one of its tasks had at once."]]
    trackingUrl: NotRequired[
        Annotated[str, "Where the job can be followed: its page, or the address that one of its tasks has set."]
    ]
    sweep: NotRequired[Annotated[str, "The id of the sweep that it is a member of."]]
    member: NotRequired[Annotated[int, "Its number in the sweep, from 1."]]
    roles: NotRequired[Annotated[list[RoleCountsOut], "The roles of a job that was not made with Muster."]]


class QueuedJobOut(JobOut):
    position: Annotated[int | None, "Its place among the jobs that wait on its cluster; null if it does not wait."]


class QueueOut(TypedDict):
    items: list[QueuedJobOut]
    total: Annotated[int, "How many there are, also if `limit` left some out."]


class JobPage(TypedDict):
    items: list[JobOut]
    nextCursor: NotRequired[str | None]
    total: NotRequired[Annotated[int, "How many match in all, if `total` asks for it; 100000 if there are more."]]


class ImportedOut(TypedDict):
    items: Annotated[list[JobOut], "The records of all jobs of the request, in its order."]
    imported: Annotated[int, "How many of them are new."]


class ContainerCommandOut(TypedDict):
    """How the node's container engine would be called. While that is unknown, `why` says why and the rest is empty."""

    engine: str
    argv: list[str]
    why: str


class SetupOut(TypedDict):
    """The setup that runs before the command, once per node for all tasks of the owner with the same key."""

    command: list[str]
    key: str
    cache: Annotated[bool, "Whether later jobs use its result."]


class RequestOut(TypedDict):
    """What would be started for one task."""

    task: str
    node: str
    argv: list[str]
    args: Annotated[list[str], "The arguments of the image's own entry point; none if they are the image's own."]
    workdir: Annotated[
        str | None, "Where its container starts: `image` or a path there; null for the task's working directory."
    ]
    commandLine: Annotated[str, "The text that bash, or else sh, runs; empty if the command is a list."]
    env: dict[str, str]
    ports: list[int]
    devices: Annotated[list[int], "The indices of its GPUs."]
    extendedDevices: list[ExtendedDeviceOut]
    image: str | None
    container: ContainerCommandOut | None
    setup: SetupOut | None


class RenderedFileOut(TypedDict):
    """A script or manifest as the cluster's engine would be given it."""

    name: str
    content: str


class TranslatedOut(TypedDict):
    spec: Annotated[dict[str, Any], "The spec as its author would write it for Muster."]
    origins: Annotated[dict[str, str], "The line and the key that each value came from, by its path in the spec."]
    warnings: list[str]


class SpecSourceOut(TypedDict):
    path: Annotated[str, "The path in the canonical spec, such as `roles.worker.resources.cpu`."]
    source: Literal["muster", "virtual-cluster", "params", "command"]
    detail: Annotated[
        str, "The virtual cluster that gives it, the text with `${params.x}`, or which framework its command shows."
    ]


class SpecOut(TypedDict):
    spec: Annotated[dict[str, Any], "The spec in canonical form, with all params replaced."]
    template: Annotated[dict[str, Any], "The spec as its author would write it, with `${params.x}`."]
    yaml: Annotated[str, "The template as YAML, to edit and submit."]
    sources: Annotated[list[SpecSourceOut], "Values that its author need not have written: defaults, and params."]


class SpecDifferenceOut(TypedDict):
    path: str
    mine: Annotated[Any, "The value of this job; null if it has none."]
    other: Annotated[Any, "The value of the other job; null if it has none."]


class SpecDiffOut(TypedDict):
    other: Annotated[str, "The id of the other job."]
    items: list[SpecDifferenceOut]
    isCut: Annotated[bool, "Whether there are more differences than are listed."]


class TaskEnvironmentOut(RequestOut):
    attempt: int
    worker: str


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
