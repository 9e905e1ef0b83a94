"""What a cluster of the other server has, as its API describes it: its nodes, and the pool that gangs are admitted
against. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muster.backends.muster_server.answers import ToldCluster, ToldNode, ToldShare, ToldVirtualCluster
from muster.backends.muster_server.observing import OtherJob
from muster.domain.nodes import EngineUse, Node, NodeState, OthersUse
from muster.domain.pools import Pool, PoolCapacity
from muster.domain.resources import Capacity, Device, ExtendedDevice
from muster.lib.nearest import nearest

_GIVING = (NodeState.READY,)


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster of the other server."""

    physical: str
    virtual: ToldVirtualCluster | None = None
    """The virtual cluster that jobs go to; None if they go to the physical cluster itself."""


def find_place(name: str, virtual: Sequence[ToldVirtualCluster], physical: Sequence[ToldCluster]) -> Place | str:
    """The cluster of this name, or what is wrong with it."""
    found = next((one for one in virtual if one.name == name), None)
    if found is not None:
        return Place(found.cluster, found)
    if any(one.name == name for one in physical):
        return Place(name)
    names = [*(one.name for one in virtual), *(one.name for one in physical)]
    guess = nearest(name, names)
    hint = f"did you mean {guess}?" if guess else f"it has {', '.join(names) or 'none that its user may use'}"
    return f"the other server has no cluster {name!r}: {hint}"


def nodes_of(cluster: str, told: Sequence[ToldNode], jobs: Iterable[OtherJob]) -> list[Node]:
    own = _own_gpus(jobs)
    return [_node(cluster, one, own) for one in told]


def unreachable(node: Node, why: str) -> Node:
    return Node(node.name, node.cluster, node.address, node.capacity, NodeState.UNREACHABLE, why)


def pool_of(place: Place, told: Sequence[ToldNode], jobs: Sequence[OtherJob], head_start: int) -> Pool:
    """The total counts all nodes, also those that are away and may come back. Of each resource, others hold what is
    used beyond our own jobs."""
    ready = [one for one in told if one.state in _GIVING]
    largest = _largest(told)
    total, there = _sum(told), _sum(ready)
    used, own = _used(ready), _own(jobs, told)
    available = _less(there, _less(used, own))
    if place.virtual is not None:
        total = _capped(total, place.virtual, PoolCapacity())
        available = _capped(available, place.virtual, _less(_share(place.virtual.used), own))
    gpus = {model: count * head_start for model, count in largest.gpus.items()}
    more = PoolCapacity(largest.cpu_m * head_start, largest.memory_bytes * head_start, gpus)
    return Pool(total, _least(available, total), _least(largest, total), more)


def _node(cluster: str, told: ToldNode, own: frozenset[tuple[str, int]]) -> Node:
    devices = tuple(Device(gpu.index, gpu.model, out_of_service=gpu.out_of_service or "") for gpu in told.gpus)
    extended = tuple(ExtendedDevice(one.resource, one.index, ()) for one in told.devices)
    taken = tuple(gpu.index for gpu in told.gpus if gpu.used)
    others = OthersUse(gpus=sum((told.name, index) not in own for index in taken))
    return Node(
        told.name,
        cluster,
        told.address,
        Capacity(told.cpu.total, told.memory.total, devices, extended=extended),
        told.state,
        told.note,
        labels=told.labels,
        use=EngineUse(told.cpu.used, told.memory.used, taken, others),
    )


def _sum(nodes: Iterable[ToldNode]) -> PoolCapacity:
    cpu_m = memory_bytes = 0
    gpus: Counter[str] = Counter()
    extended: Counter[str] = Counter()
    for node in nodes:
        cpu_m += node.cpu.total
        memory_bytes += node.memory.total
        gpus.update(gpu.model for gpu in node.gpus if not gpu.out_of_service)
        extended.update(one.resource for one in node.devices if not one.out_of_service)
    return PoolCapacity(cpu_m, memory_bytes, dict(gpus), dict(extended))


def _used(nodes: Iterable[ToldNode]) -> PoolCapacity:
    listed = list(nodes)
    return PoolCapacity(
        sum(node.cpu.used for node in listed),
        sum(node.memory.used for node in listed),
        dict(Counter(gpu.model for node in listed for gpu in node.gpus if gpu.used)),
        dict(Counter(one.resource for node in listed for one in node.devices if one.job)),
    )


def _largest(nodes: Sequence[ToldNode]) -> PoolCapacity:
    each = [_sum([node]) for node in nodes]
    return PoolCapacity(
        max((one.cpu_m for one in each), default=0),
        max((one.memory_bytes for one in each), default=0),
        _most(one.gpus for one in each),
        _most(one.extended for one in each),
    )


def _most(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in counts:
        found |= {name: max(count, found.get(name, 0)) for name, count in one.items()}
    return found


def _own(jobs: Sequence[OtherJob], nodes: Sequence[ToldNode]) -> PoolCapacity:
    """What our own jobs hold."""
    models = {(node.name, gpu.index): gpu.model for node in nodes for gpu in node.gpus}
    live = [job.told for job in jobs if not job.is_over]
    return PoolCapacity(
        sum(job.cpu for job in live),
        sum(job.memory_bytes for job in live),
        dict(Counter(models[gpu] for gpu in _own_gpus(jobs) if gpu in models)),
    )


def _own_gpus(jobs: Iterable[OtherJob]) -> frozenset[tuple[str, int]]:
    return frozenset(
        (task.node or "", index)
        for job in jobs
        for task in job.told.tasks
        if task.ended_at is None
        for index in task.gpus
    )


def _capped(capacity: PoolCapacity, virtual: ToldVirtualCluster, others: PoolCapacity) -> PoolCapacity:
    """What jobs can have of it in the virtual cluster, where others have so much. For CPU and memory, 0 means that
    there is no limit."""
    most = virtual.max
    if most is None and virtual.borrow:
        return capacity
    if most is None:
        most = virtual.guaranteed.model_copy(update={"cpu": 0, "memory": 0})
    cpu_m, memory_bytes = most.cpu, most.memory
    return PoolCapacity(
        min(capacity.cpu_m, max(0, cpu_m - others.cpu_m)) if cpu_m else capacity.cpu_m,
        min(capacity.memory_bytes, max(0, memory_bytes - others.memory_bytes))
        if memory_bytes
        else capacity.memory_bytes,
        {
            model: min(count, max(0, int(most.gpu_models.get(model, most.gpu)) - others.gpus.get(model, 0)))
            for model, count in capacity.gpus.items()
        },
        capacity.extended,
    )


def _share(share: ToldShare) -> PoolCapacity:
    gpus = {model: int(count) for model, count in share.gpu_models.items()}
    return PoolCapacity(share.cpu, share.memory, gpus)


def _less(first: PoolCapacity, second: PoolCapacity) -> PoolCapacity:
    return PoolCapacity(
        max(0, first.cpu_m - second.cpu_m),
        max(0, first.memory_bytes - second.memory_bytes),
        _difference(first.gpus, second.gpus),
        _difference(first.extended, second.extended),
    )


def _difference(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {name: max(0, count - second.get(name, 0)) for name, count in first.items()}


def _least(first: PoolCapacity, second: PoolCapacity) -> PoolCapacity:
    return PoolCapacity(
        min(first.cpu_m, second.cpu_m),
        min(first.memory_bytes, second.memory_bytes),
        {name: min(count, second.gpus.get(name, 0)) for name, count in first.gpus.items()},
        {name: min(count, second.extended.get(name, 0)) for name, count in first.extended.items()},
    )
