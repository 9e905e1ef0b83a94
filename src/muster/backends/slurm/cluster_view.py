"""The nodes of the cluster as Slurm last described them, and the capacity that jobs are admitted against."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from muster.backends.slurm.options import Order, SlurmOptions
from muster.domain.nodes import Node, NodeState
from muster.domain.pools import Pool, PoolCapacity
from muster.domain.resources import Capacity, Device

_EVERYTHING = 1 << 40
UNNAMED_MODEL = "GPU"


@dataclass(frozen=True, slots=True)
class SlurmNode:
    name: str
    address: str
    cpu_m: int
    memory_bytes: int
    gpus: Mapping[str, int] = field(default_factory=dict)
    """GPUs by gres type; empty if they have none."""
    state: str = ""
    used_cpu_m: int = 0
    used_memory_bytes: int = 0


class ClusterView:
    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self.nodes: tuple[Node, ...] = ()
        self.pool: Pool | None = None
        self.gpu_types: tuple[str, ...] = ()

    def update(self, found: Sequence[SlurmNode], options: SlurmOptions) -> bool:
        """Whether anything has changed."""
        before = self.nodes, self.pool
        self.gpu_types = tuple(sorted({type_ for node in found for type_ in node.gpus if type_}))
        self.nodes = tuple(_listed(node, self._cluster, options) for node in sorted(found, key=lambda one: one.name))
        self.pool = _pool(found, options)
        return (self.nodes, self.pool) != before


def _listed(node: SlurmNode, cluster: str, options: SlurmOptions) -> Node:
    models = [model for type_, count in sorted(node.gpus.items()) for model in [_model(type_, options)] * count]
    devices = tuple(Device(index, model) for index, model in enumerate(models))
    capacity = Capacity(node.cpu_m, node.memory_bytes, devices)
    return Node(node.name, cluster, node.address, capacity, NodeState.READY)


def _pool(nodes: Sequence[SlurmNode], options: SlurmOptions) -> Pool:
    total = _sum(nodes, options)
    largest = PoolCapacity(
        max((node.cpu_m for node in nodes), default=0),
        max((node.memory_bytes for node in nodes), default=0),
        _most(nodes, options),
    )
    used_cpu_m = sum(node.used_cpu_m for node in nodes)
    available = PoolCapacity(max(0, total.cpu_m - used_cpu_m), total.memory_bytes, total.gpus)
    return Pool(total, available, largest, head_start=_head_start(total, largest, options))


def _head_start(total: PoolCapacity, largest: PoolCapacity, options: SlurmOptions) -> PoolCapacity:
    if options.order is Order.SLURM:
        return PoolCapacity(_EVERYTHING, _EVERYTHING, dict.fromkeys(total.gpus, 1 << 20))
    times = options.head_start
    gpus = {model: count * times for model, count in largest.gpus.items()}
    return PoolCapacity(largest.cpu_m * times, largest.memory_bytes * times, gpus)


def _sum(nodes: Iterable[SlurmNode], options: SlurmOptions) -> PoolCapacity:
    cpu_m = memory_bytes = 0
    gpus: Counter[str] = Counter()
    for node in nodes:
        cpu_m, memory_bytes = cpu_m + node.cpu_m, memory_bytes + node.memory_bytes
        for type_, count in node.gpus.items():
            gpus[_model(type_, options)] += count
    return PoolCapacity(cpu_m, memory_bytes, dict(gpus))


def _most(nodes: Iterable[SlurmNode], options: SlurmOptions) -> dict[str, int]:
    found: Counter[str] = Counter()
    for node in nodes:
        for type_, count in node.gpus.items():
            model = _model(type_, options)
            found[model] = max(found[model], count)
    return dict(found)


def _model(type_: str, options: SlurmOptions) -> str:
    return options.gpu_models.get(type_, type_) or UNNAMED_MODEL
