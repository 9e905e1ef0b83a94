"""Clusters and nodes, as the API answers them."""

from typing import Annotated, Any, Literal, TypedDict

from muster.api.jobs import ExtendedDeviceOut, TaskStateName

Placement = Literal["muster", "engine"]


class CpuOut(TypedDict):
    total: str
    used: Annotated[str, "How much is allocated to tasks; on a Slurm cluster, also to jobs of others."]


class MemoryOut(TypedDict):
    total: int
    used: int


class GpuOut(TypedDict):
    index: int
    model: str
    used: Annotated[float, "How much of it is allocated to tasks: 0 to 1."]
    job: Annotated[
        str | None,
        "The job that holds it now; several names with commas if it is shared; `(others)` if it was not made with "
        "Muster. Null if the GPU is free, or if the cluster's own engine does not say which job has it.",
    ]
    owner: Annotated[str | None, "Whose job that is, as far as you may see it; several names with commas."]
    outOfService: Annotated[str | None, "Why it is not allocated to new tasks, if so; a task that holds it keeps it."]


class NodeDeviceOut(ExtendedDeviceOut):
    job: Annotated[str | None, "The job that holds it now."]
    outOfService: Annotated[str | None, "Why it is not allocated to new tasks, if so; a task that holds it keeps it."]


class OthersOut(TypedDict):
    cpu: str
    memory: int
    gpus: int


class NodeOut(TypedDict):
    name: str
    cluster: str
    state: str
    since: Annotated[str | None, "When it entered this state."]
    address: str
    login: Annotated[str | None, "How the server logs in, if it does so by SSH; for admins."]
    cpu: CpuOut
    memory: MemoryOut
    gpus: list[GpuOut]
    devices: Annotated[list[NodeDeviceOut], "Devices other than GPUs."]
    others: Annotated[
        OthersOut | None, "How much of what is used belongs to jobs that were not made with Muster; null if unknown."
    ]
    partitions: Annotated[list[str], "The partitions of Slurm that it belongs to."]
    tasks: int
    note: str
    alerts: Annotated[list[str], "Problems that an admin should look at."]
    labels: Annotated[dict[str, str], "The labels that jobs ask for by `where`, as admins wrote them."]
    usage: dict[str, Any] | None


class NodeTaskOut(TypedDict):
    task: str
    job: str
    jobId: str
    owner: str
    state: TaskStateName
    cpuPercent: Annotated[float | None, "100 is one core. null where it is not measured."]
    rssBytes: Annotated[int | None, "null where it is not measured."]
    processes: Annotated[int | None, "null where it is not measured."]


class NodeDetailOut(NodeOut):
    running: Annotated[list[NodeTaskOut], "Its tasks that have not ended, of jobs that the caller may see."]


class NodeList(TypedDict):
    items: list[NodeOut]


class IsolationOut(TypedDict):
    mode: Annotated[str | None, "`user`, `namespace`, `container` or `none`; null while no node is connected."]
    why: Annotated[str, "Why it is not more, or what is wrong."]
    trustUsers: Annotated[bool, "Users may run jobs there even if tasks are not isolated."]
    gaps: Annotated[list[str], "What is not enforced although tasks are isolated."]


class AccessOut(TypedDict):
    users: list[str]
    groups: Annotated[list[str], "If no user is named either, everybody may use it."]


class ClusterOut(TypedDict):
    name: str
    backend: str
    default: bool
    nodes: int
    state: Annotated[str, "`Ready`, `Unreachable`, or `Draining` if it is switched off and its last jobs run."]
    capabilities: Annotated[
        list[str], "What can be done there; a call that needs another capability is refused with `not-offered`."
    ]
    placement: Annotated[Placement, "Who chooses nodes and devices: Muster, or the cluster's own engine."]
    isolation: Annotated[
        IsolationOut | None, "How tasks of different users are kept apart; null if the cluster's own engine does it."
    ]
    access: Annotated[AccessOut | None, "Who may use it; for admins."]
    storages: Annotated[
        list[str],
        "What jobs can mount by `storage`, as far as you may use it: names of the cluster's file and folders.",
    ]
    notes: Annotated[list[str], "What it offers less than it could, and why, such as unknown usage."]


class ClusterList(TypedDict):
    items: list[ClusterOut]


class NodeAddedOut(TypedDict):
    name: str
    cluster: str
    host: str
