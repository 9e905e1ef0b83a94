"""Virtual clusters and quotas, as the API answers them."""

from typing import Annotated, Any, TypedDict


class ShareOut(TypedDict):
    gpu: Annotated[int | float, "In all."]
    gpuModels: Annotated[dict[str, int | float], "Those of a given model."]
    cpu: str
    memory: str


class LimitsOut(TypedDict):
    """Null is no limit."""

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
    cluster: Annotated[str, "The physical one."]
    description: str
    guaranteed: ShareOut
    max: Annotated[ShareOut | None, "Null is no limit; so is a zero of CPU or memory in it."]
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
    users: Annotated[list[str] | None, "For admins. With groups empty too: everybody."]
    groups: Annotated[list[str] | None, "For admins."]


class ClusterProblemOut(TypedDict):
    """What is wrong with the settings as they are now; those before it are in force."""

    file: str
    line: int | None
    path: str
    message: str
    hint: str


class VirtualClusterList(TypedDict):
    items: list[VirtualClusterOut]
    problems: Annotated[list[ClusterProblemOut], "For admins."]


class QuotaOut(TypedDict):
    vc: str
    user: Annotated[str | None, "Null: of the virtual cluster as a whole."]
    kind: str
    limit: int | float
    used: int | float
    waiting: Annotated[int, "Jobs that wait on it."]
    jobs: Annotated[list[str], "Names of the first of them, of those that you may see."]


class QuotaList(TypedDict):
    items: list[QuotaOut]
