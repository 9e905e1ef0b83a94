"""The nodes of the cluster, what of them tasks may use, and what the pods of others use of it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.agent.gpus.models import model_name
from muster.backends.kubernetes.options import GPU_LABELS, KubernetesOptions
from muster.backends.kubernetes.pods import GpuChoice
from muster.domain.extended_resources import is_name
from muster.domain.nodes import Node, NodeState
from muster.domain.pools import Pool, PoolCapacity
from muster.domain.resources import Capacity, Device, ExtendedDevice, Resources
from muster.kubernetes.amounts import pod_requests, thousandths, total, whole
from muster.kubernetes.taints import Taint, Toleration, is_state, is_tolerated, keeps_out
from muster.kubernetes.times import instant

UNNAMED_MODEL = "GPU"
"""The model of GPUs for which a node has no label."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What pods have reserved on one node."""

    cpu_m: int = 0
    memory_bytes: int = 0
    gpus: int = 0
    extended: Mapping[str, int] = field(default_factory=dict)
    """Devices other than GPUs, by the name of their resource."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.cpu_m + other.cpu_m,
            self.memory_bytes + other.memory_bytes,
            self.gpus + other.gpus,
            total((self.extended, other.extended)) if self.extended or other.extended else {},
        )

    def __neg__(self) -> "Usage":
        extended = {name: -count for name, count in self.extended.items()}
        return Usage(-self.cpu_m, -self.memory_bytes, -self.gpus, extended)


@dataclass(frozen=True, slots=True)
class KubeNode:
    """A node as far as its capacity matters."""

    name: str
    address: str
    cpu_m: int
    memory_bytes: int
    gpus: int
    model: str
    gpu_resource: str
    products: Mapping[str, str]
    """The labels that name the model of its GPUs."""
    extended: Mapping[str, int] = field(default_factory=dict)
    """Devices other than GPUs, by the name of their resource."""
    labels: Mapping[str, str] = field(default_factory=dict)
    is_ready: bool = True
    not_ready_since: float | None = None
    not_ready_why: str = ""
    closed: str = ""
    """Why it gets no tasks although it is ready: cordoned, a taint, or the selector of the cluster's file."""
    is_ours: bool = True
    """Whether the cluster's file lets tasks run there at all."""

    @property
    def takes_tasks(self) -> bool:
        return self.is_ready and not self.closed


def read_node(one: Mapping[str, Any], options: KubernetesOptions) -> KubeNode:
    metadata, spec, status = one["metadata"], one.get("spec") or {}, one.get("status") or {}
    labels = metadata.get("labels") or {}
    free = status.get("allocatable") or status.get("capacity") or {}
    resource = next((name for name in options.gpu_resources if whole(free.get(name, 0))), options.gpu_resources[0])
    products = {label: labels[label] for label in GPU_LABELS if labels.get(label)}
    ready: Mapping[str, Any] = next(
        (each for each in status.get("conditions") or () if each.get("type") == "Ready"), {}
    )
    is_ready = ready.get("status") == "True"
    is_selected = all(labels.get(key) == value for key, value in options.node_selector.items())
    taint = _taint(spec.get("taints") or (), options.tolerations)
    return KubeNode(
        name=metadata["name"],
        address=_address(status),
        cpu_m=thousandths(free.get("cpu", 0)),
        memory_bytes=whole(free.get("memory", 0)),
        gpus=whole(free.get(resource, 0)),
        model=_model(products.values(), options),
        gpu_resource=resource,
        products=products,
        extended=extended_amounts({name: whole(amount) for name, amount in free.items()}, options),
        labels=labels,
        is_ready=is_ready,
        not_ready_since=None if is_ready else instant(ready.get("lastTransitionTime")),
        not_ready_why="" if is_ready else str(ready.get("message") or ready.get("reason") or ""),
        closed="cordoned in Kubernetes" if spec.get("unschedulable") else taint,
        is_ours=is_selected,
    )


def extended_amounts(amounts: Mapping[str, int], options: KubernetesOptions) -> dict[str, int]:
    """Those of the amounts that are devices other than GPUs."""
    return {
        name: count
        for name, count in amounts.items()
        if count > 0 and "/" in name and name not in options.gpu_resources and is_name(name)
    }


def pod_usage(pod: Mapping[str, Any], options: KubernetesOptions) -> Usage:
    """What a pod has reserved on its node."""
    needed = pod_requests(pod.get("spec") or {})
    gpus = sum(needed.get(name, 0) for name in options.gpu_resources)
    extended = extended_amounts({name: amount // 1000 for name, amount in needed.items()}, options)
    return Usage(needed.get("cpu", 0), needed.get("memory", 0) // 1000, gpus // 1000, extended)


def holds_resources(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def pool(nodes: Iterable[KubeNode], others: Mapping[str, Usage], head_start: PoolCapacity, note: str = "") -> Pool:
    """`others` is what pods that are not Muster's have reserved, by node."""
    ours = [node for node in nodes if node.is_ours]
    open_nodes = [node for node in ours if node.takes_tasks]
    left = [_left(node, others.get(node.name, Usage())) for node in open_nodes]
    largest: Counter[str] = Counter()
    for node in ours:
        largest[node.model] = max(largest[node.model], node.gpus)
    return Pool(
        total=_sum((node.model, Usage(node.cpu_m, node.memory_bytes, node.gpus, node.extended)) for node in ours),
        available=_sum((node.model, usage) for node, usage in zip(open_nodes, left, strict=True)),
        largest_node=PoolCapacity(
            max((node.cpu_m for node in ours), default=0),
            max((node.memory_bytes for node in ours), default=0),
            {model: count for model, count in largest.items() if count},
            {name: max(node.extended.get(name, 0) for node in ours) for node in ours for name in node.extended},
        ),
        head_start=head_start,
        note=note,
    )


def listed_nodes(nodes: Iterable[KubeNode], cluster: str) -> list[Node]:
    """The nodes that may run tasks, for people."""
    return [_node(node, cluster) for node in sorted(nodes, key=lambda one: one.name) if node.is_ours]


def gpu_choice(asked: Resources, nodes: Iterable[KubeNode], options: KubernetesOptions) -> GpuChoice:
    """How a task asks for these GPUs: by the resource and the labels of the nodes that have them. Models that no node
    has are asked for by the name that the job gives them."""
    wanted = {model.lower() for model in asked.gpu_models}
    fit = [node for node in nodes if node.gpus and (not wanted or node.model.lower() in wanted)]
    resource = next((node.gpu_resource for node in fit), options.gpu_resources[0])
    if not wanted:
        return GpuChoice(resource)
    products: dict[str, set[str]] = defaultdict(set)
    for node in fit:
        for label, value in node.products.items():
            products[label].add(value)
    return GpuChoice(resource, products or {GPU_LABELS[0]: set(asked.gpu_models)})


def _node(node: KubeNode, cluster: str) -> Node:
    state, note = NodeState.READY, ""
    if not node.is_ready:
        state, note = NodeState.UNREACHABLE, node.not_ready_why
    elif node.closed:
        state, note = NodeState.CORDONED, node.closed
    devices = tuple(Device(index, node.model) for index in range(node.gpus))
    extended = tuple(
        ExtendedDevice(name, number) for name, count in sorted(node.extended.items()) for number in range(count)
    )
    capacity = Capacity(node.cpu_m, node.memory_bytes, devices, extended=extended)
    return Node(
        node.name, cluster, node.address, capacity, state, note, labels=dict(node.labels), since=node.not_ready_since
    )


def _left(node: KubeNode, used: Usage) -> Usage:
    return Usage(
        max(0, node.cpu_m - used.cpu_m),
        max(0, node.memory_bytes - used.memory_bytes),
        max(0, node.gpus - used.gpus),
        {name: max(0, count - used.extended.get(name, 0)) for name, count in node.extended.items()},
    )


def _sum(parts: Iterable[tuple[str, Usage]]) -> PoolCapacity:
    cpu_m = memory_bytes = 0
    gpus: Counter[str] = Counter()
    extended: Counter[str] = Counter()
    for model, usage in parts:
        cpu_m, memory_bytes = cpu_m + usage.cpu_m, memory_bytes + usage.memory_bytes
        gpus[model] += usage.gpus
        extended.update(usage.extended)
    return PoolCapacity(cpu_m, memory_bytes, {model: count for model, count in gpus.items() if count}, dict(extended))


def _model(products: Iterable[str], options: KubernetesOptions) -> str:
    for product in products:
        return options.gpu_models.get(product) or model_name(product)
    return UNNAMED_MODEL


def _address(status: Mapping[str, Any]) -> str:
    found = {one.get("type"): one.get("address") for one in status.get("addresses") or ()}
    return str(found.get("InternalIP") or found.get("Hostname") or "")


def _taint(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> str:
    """The first taint that keeps tasks out. The state of the node is known from elsewhere."""
    known = tuple(tolerations)
    for taint in taints:
        if keeps_out(taint) and not is_state(taint) and not is_tolerated(taint, known):
            return f"has the taint {taint.get('key', '')}, which the tolerations of the cluster's file do not name"
    return ""
