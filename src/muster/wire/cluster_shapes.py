"""The shapes of virtual clusters and limits in the API, for its documentation."""

from typing import Any

from pydantic import Field

from muster.wire.schemas import Shape


class ShareOut(Shape):
    gpu: int | float = Field(description="In all.")
    gpu_models: dict[str, int | float] = Field(description="Those of a given model.")
    cpu: str
    memory: str


class LimitsOut(Shape):
    """Null is no limit."""

    running_gpus: int | None
    running_jobs: int | None
    gpu_hours_per_week: int | float | None
    queued_jobs: int | None


class DefaultsOut(Shape):
    env: dict[str, str]
    runtime: dict[str, str]
    mounts: list[dict[str, Any]]
    resources: dict[str, Any] | None


class VirtualClusterOut(Shape):
    name: str
    cluster: str = Field(description="The physical one.")
    description: str
    guaranteed: ShareOut
    max: ShareOut | None = Field(description="Null is no limit; so is a zero of CPU or memory in it.")
    borrow: bool
    used: ShareOut
    borrowed: ShareOut = Field(description="The part of `used` beyond the guarantee.")
    lent: ShareOut = Field(description="The part of the guarantee that others use now.")
    running: int
    waiting: int
    policy: str
    prediction_error: float | None = Field(description="Median of |predicted - real| / real; null before one is known.")
    priorities: list[str]
    may_refuse_preemption: bool
    limits: LimitsOut
    user_limits: LimitsOut
    defaults: DefaultsOut
    users: list[str] | None = Field(description="For admins. With groups empty too: everybody.")
    groups: list[str] | None = Field(description="For admins.")


class ClusterProblemOut(Shape):
    """What is wrong with the settings as they are now; those before it are in force."""

    file: str
    line: int | None
    path: str
    message: str
    hint: str


class VirtualClusterList(Shape):
    items: list[VirtualClusterOut]
    problems: list[ClusterProblemOut] = Field(description="For admins.")


class QuotaOut(Shape):
    vc: str
    user: str | None = Field(description="Null: of the virtual cluster as a whole.")
    kind: str
    limit: int | float
    used: int | float
    waiting: int = Field(description="Jobs that wait on it.")
    jobs: list[str] = Field(description="Names of the first of them, of those that you may see.")


class QuotaList(Shape):
    items: list[QuotaOut]
