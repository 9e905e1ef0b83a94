"""Builders of small clusters and demands, and short ways of reading what a plan says."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster.domain.nodes import Node
from muster.domain.specs import Priority, Role
from muster.domain.virtual_clusters import Limits, OrderPolicy, Share, VirtualCluster
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import JobDemand, demand_of
from muster.scheduling.plan import Plan
from tests.parts.building import GIB, a_job, a_node, a_role, a_spec

NOBODY = Limits()


def a_cluster(*nodes: Node, vcs: Iterable[VirtualCluster] = (), may_interrupt: bool = True) -> ClusterState:
    state = ClusterState("lab", may_interrupt=may_interrupt)
    for node in nodes:
        state.node_changed(node)
    state.configured(vcs)
    return state


def a_gpu_node(
    name: str, gpus: int, model: str = "A100", *, cpu: float = 64, labels: Mapping[str, str] | None = None
) -> Node:
    return replace(a_node(name, cpu, 256 * GIB, *[model] * gpus), labels=labels or {})


def a_vc(
    name: str,
    gpus: int = 0,
    *,
    most: int | None = None,
    borrows: bool = True,
    policy: OrderPolicy = OrderPolicy.DEFAULT,
    limits: Limits = NOBODY,
    user_limits: Limits = NOBODY,
) -> VirtualCluster:
    """`gpus` of any model are guaranteed, `most` may be used."""
    return VirtualCluster(
        name,
        "lab",
        Share({"": gpus}) if gpus else Share(),
        max=None if most is None else Share({"": most}),
        borrows=borrows,
        policy=policy,
        may_refuse_preemption=True,
        limits=limits,
        user_limits=user_limits,
    )


def a_demand(number: int, *roles: Role, priority: Priority = Priority.NORMAL, **fields: object) -> JobDemand:
    """Job j7, called job-7, created at second 7. The rest are fields of the demand."""
    spec = a_spec(*roles, name=f"job-{number}", priority=priority)
    demand = demand_of(a_job(spec, job_id=f"j{number}", created_at=float(number)))
    return replace(demand, **fields)  # type: ignore[arg-type]


def gpus(count: float, replicas: int = 1, *models: str, least: int | None = None, most: int | None = None) -> Role:
    """A role of workers with so many GPUs each; below one it is a part of a card."""
    role = a_role(replicas=replicas, gpus=max(1, int(count)), models=models, least=least, most=most)
    share = 1000 if count >= 1 else round(count * 1000)
    return replace(role, resources=replace(role.resources, gpu_share=share))


def queue(state: ClusterState, *demands: JobDemand, at: float = 100.0) -> Plan:
    for demand in demands:
        state.queued(demand)
    return state.cycle(at)


def started(plan: Plan) -> list[str]:
    return [start.job_id for start in plan.starts]


def preempted(plan: Plan) -> list[str]:
    return [preemption.job_id for preemption in plan.preemptions]


def places(plan: Plan, job_id: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    start = next(start for start in plan.starts if start.job_id == job_id)
    return {f"{slot.role}-{slot.index}": (slot.node, slot.devices) for slot in start.slots}


def nodes_of(plan: Plan, job_id: str) -> list[str]:
    """Of each task."""
    return [node for node, _ in places(plan, job_id).values()]


def message(state: ClusterState, job_id: str) -> str:
    """The first reason."""
    reason = state.reason(job_id)
    return "" if reason is None else reason.message


def codes(state: ClusterState, job_id: str) -> list[str]:
    return [reason.code for reason in state.reasons(job_id, 100.0)]
