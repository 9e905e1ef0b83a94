"""Virtual clusters and quotas, as the API answers them."""

from typing import Annotated, Any, TypedDict


class ShareOut(TypedDict):
    gpu: Annotated[int | float, "All GPUs."]
    gpuModels: Annotated[dict[str, int | float], "The GPUs of a given model, by model."]
    cpu: str
    memory: str


class LimitsOut(TypedDict):
    """Null means no limit."""

    runningGpus: int | None
    runningJobs: int | None
    gpuHoursPerWeek: int | float | None
    queuedJobs: int | None


class DefaultsOut(TypedDict):
    env: dict[str, str]
    runtime: dict[str, str]
    mounts: list[dict[str, Any]]
    resources: dict[str, Any] | None


class VirtualClusterOut(TypedDict):
    name: str
    cluster: Annotated[str, "The physical cluster."]
    description: str
    guaranteed: ShareOut
    max: Annotated[ShareOut | None, "Null means no limit; so does 0 for CPU or memory in it."]
    borrow: bool
    used: ShareOut
    borrowed: Annotated[ShareOut, "The part of `used` beyond the guarantee."]
    lent: Annotated[ShareOut, "The part of the guarantee that others use now."]
    running: int
    waiting: int
    policy: str
    predictionError: Annotated[float | None, "Median of |predicted - real| / real; null before one is known."]
    priorities: list[str]
    mayRefusePreemption: bool
    limits: LimitsOut
    userLimits: LimitsOut
    defaults: DefaultsOut
    users: Annotated[
        list[str] | None,
        "The users who may use it, which only admins see. If this and `groups` are empty, everybody may.",
    ]
    groups: Annotated[list[str] | None, "For admins."]


class ClusterProblemOut(TypedDict):
    """A problem of the present settings; the previous ones remain in force."""

    file: str
    line: int | None
    path: str
    message: str
    hint: str


class VirtualClusterList(TypedDict):
    items: list[VirtualClusterOut]
    problems: Annotated[list[ClusterProblemOut], "For admins."]


class QuotaOut(TypedDict):
    vc: Annotated[str, "Empty for a limit of the user on the server as a whole."]
    user: Annotated[str | None, "Null for a limit of the virtual cluster as a whole."]
    kind: str
    limit: int | float
    used: int | float
    waiting: Annotated[int, "How many jobs wait because of it."]
    jobs: Annotated[list[str], "The names of the first of them, as far as you may see them."]


class QuotaList(TypedDict):
    items: list[QuotaOut]
