"""Virtual clusters and nodes as admins write them, documents of a file in `clusters.d`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from muster.domain.errors import Invalid, Problem
from muster.domain.nodes import NodeSettings
from muster.domain.specs import Priority
from muster.domain.virtual_clusters import Defaults, Limits, OrderPolicy, Share, VirtualCluster
from muster.wire.cluster_problems import located, refused
from muster.wire.documents import Document
from muster.wire.physical_schema import Labels, MaxTasks, ReservedIn
from muster.wire.spec_schema import (
    NAME_PATTERN,
    Bytes,
    Cpu,
    Env,
    MountIn,
    NodeName,
    ResourcesIn,
    RuntimeIn,
    Strict,
)
from muster.wire.specs import spec_from_document

Count = Annotated[int, Field(ge=0)]


class ShareIn(Strict):
    """An amount of hardware."""

    gpu: Count | dict[str, Count] | None = Field(None, description="GPUs of any model, or by model: {V100: 8}.")
    cpu: Cpu | None = Field(None, description="Cores.")
    memory: Bytes | None = None


class LimitsIn(Strict):
    """Absent means no limit."""

    running_gpus: Count | None = Field(None, description="GPUs held at one time; a job over it waits.")
    running_jobs: Count | None = Field(None, description="Jobs that run at one time; a job over it waits.")
    gpu_hours_per_week: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="GPU hours in the last seven days; a job over it waits."
    )
    queued_jobs: Count | None = Field(None, description="Jobs that have not started; one more is refused.")


class DefaultsIn(Strict):
    """What a job gets that does not say otherwise."""

    env: Env = Field(default_factory=dict)
    runtime: RuntimeIn | None = None
    mounts: list[MountIn] = Field(default_factory=list)
    resources: ResourcesIn | None = None


class VirtualClusterIn(Strict):
    """A physical cluster plus settings plus a share."""

    name: str = Field(pattern=NAME_PATTERN, description="What jobs write as `cluster`.")
    cluster: str | None = Field(None, description="The physical cluster; the server's default if absent.")
    description: str = Field("", max_length=4096)
    guaranteed: ShareIn = Field(default_factory=ShareIn, description="Promised: borrowers leave when it is asked for.")
    max: ShareIn | None = Field(None, description="Never more than this; what is absent in it is not limited.")
    borrow: bool = Field(True, description="May use what others leave idle.")
    policy: OrderPolicy = Field(OrderPolicy.DEFAULT, description="Who is next within one priority.")
    priorities: list[Priority] = Field(list(Priority), min_length=1, description="Priorities that jobs may have.")
    users: list[str] = Field(default_factory=list, description="Who may use it; with groups absent too, everybody.")
    groups: list[str] = Field(default_factory=list, description="Groups whose members may use it.")
    may_refuse_preemption: bool = Field(False, description="Whether jobs may say `preemptible: false`.")
    limits: LimitsIn = Field(default_factory=LimitsIn, description="Of the virtual cluster as a whole.")
    user_limits: LimitsIn = Field(default_factory=LimitsIn, description="Of each of its users.")
    defaults: DefaultsIn = Field(default_factory=DefaultsIn)


VIRTUAL_KEYS = frozenset(field.alias or name for name, field in VirtualClusterIn.model_fields.items())


class NodeIn(Strict):
    """What a machine does not know of itself."""

    name: NodeName = Field(description="As `muster get nodes` shows it.")
    labels: Labels = Field(default_factory=dict, description="What jobs ask for by `where`.")
    reserved: ReservedIn | None = Field(
        None, description="What is kept for the machine itself; what the cluster reserves on each node if absent."
    )
    max_tasks: MaxTasks | None = Field(
        None, description="Tasks that run there at the same time, if that is less than on other nodes of the cluster."
    )


class NodesIn(Strict):
    """Nodes of one physical cluster."""

    cluster: str | None = Field(None, description="The physical cluster; the server's default if absent.")
    nodes: list[NodeIn]


_PARTS: dict[str, type[BaseModel]] = {
    "guaranteed": ShareIn,
    "max": ShareIn,
    "limits": LimitsIn,
    "userLimits": LimitsIn,
    "defaults": DefaultsIn,
    "runtime": RuntimeIn,
    "mounts": MountIn,
    "resources": ResourcesIn,
    "nodes": NodeIn,
    "reserved": ReservedIn,
}


def read_virtual_cluster(document: Document, physical: str) -> VirtualCluster:
    """Raises Invalid with every problem, each with its path and line. `physical` is the cluster if none is named."""
    data = document.data
    if not isinstance(data, dict):
        line = document.lines.get(())
        raise Invalid("", problems=(Problem("", "is no mapping", "a virtual cluster has at least a `name`", line),))
    problems: list[Problem] = []
    try:
        model = VirtualClusterIn.model_validate(data)
        problems = _max_below_guaranteed(model) + _nothing_to_run_on(model)
        defaults = _defaults(data.get("defaults") or {})
    except ValidationError as error:
        raise refused(error, document, VirtualClusterIn, _PARTS) from None
    except Invalid as error:
        problems += [replace(problem, path=f"defaults.{problem.path}") for problem in error.problems]
    if problems:
        raise located(document, *problems)
    return VirtualCluster(
        name=model.name,
        cluster=model.cluster or physical,
        guaranteed=_share(model.guaranteed),
        max=None if model.max is None else _share(model.max),
        borrows=model.borrow,
        policy=model.policy,
        priorities=tuple(sorted(set(model.priorities), key=lambda priority: priority.rank)),
        users=tuple(model.users),
        groups=tuple(model.groups),
        may_refuse_preemption=model.may_refuse_preemption,
        limits=_limits(model.limits),
        user_limits=_limits(model.user_limits),
        defaults=defaults,
        description=model.description,
    )


def read_nodes(document: Document, physical: str) -> tuple[NodeSettings, ...]:
    """Raises Invalid as `read_virtual_cluster` does."""
    try:
        model = NodesIn.model_validate(document.data)
    except ValidationError as error:
        raise refused(error, document, NodesIn, _PARTS) from None
    return tuple(
        NodeSettings(
            node.name,
            model.cluster or physical,
            dict(node.labels),
            document.line(f"nodes[{index}]"),
            reserved=node.reserved.reserved() if node.reserved is not None else None,
            max_tasks=node.max_tasks,
        )
        for index, node in enumerate(model.nodes)
    )


def _share(share: ShareIn) -> Share:
    return Share(_gpus(share), share.cpu or 0, share.memory or 0)


def _gpus(share: ShareIn) -> dict[str, int]:
    if share.gpu is None:
        return {}
    return {"": share.gpu} if isinstance(share.gpu, int) else dict(share.gpu)


def _limits(limits: LimitsIn) -> Limits:
    return Limits(limits.running_gpus, limits.running_jobs, limits.gpu_hours_per_week, limits.queued_jobs)


def _defaults(data: Mapping[str, Any]) -> Defaults:
    """Read as the same keys of a job would be, so that they mean the same."""
    spec = spec_from_document(Document({"name": "defaults", "command": "true", **data}))
    return Defaults(spec.env, spec.runtime, spec.mounts, spec.roles[0].resources if data.get("resources") else None)


def _max_below_guaranteed(model: VirtualClusterIn) -> list[Problem]:
    most = model.max
    if most is None:
        return []
    found = []
    for name in ("cpu", "memory"):
        if getattr(most, name) is not None and getattr(most, name) < (getattr(model.guaranteed, name) or 0):
            found.append(Problem(f"max.{name}", "is less than what is guaranteed", f"see guaranteed.{name}"))
    if most.gpu is not None and not _covers(_gpus(most), _gpus(model.guaranteed)):
        found.append(Problem("max.gpu", "is less than what is guaranteed", "see guaranteed.gpu"))
    return found


def _nothing_to_run_on(model: VirtualClusterIn) -> list[Problem]:
    if model.borrow or not _share(model.guaranteed).is_nothing:
        return []
    return [Problem("borrow", "is false, and nothing is guaranteed: no job could run", "guarantee something")]


def _covers(most: Mapping[str, int], promised: Mapping[str, int]) -> bool:
    if "" in most:
        return sum(promised.values()) <= most[""]
    return sum(promised.values()) <= sum(most.values()) and all(
        amount <= most.get(name, 0) for name, amount in promised.items() if name
    )
