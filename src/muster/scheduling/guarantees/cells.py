"""Deals the guarantees of virtual clusters out to nodes. The part of a node that a virtual cluster is guaranteed is a
cell: devices, with the CPU and memory that belong to such a part of the node. Devices other than GPUs are guaranteed
to nobody: all cells of a node have them, and who comes first gets them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from muster.domain.nodes import Node, NodeState
from muster.domain.resources import Capacity, Device
from muster.domain.virtual_clusters import Share, VirtualCluster
from muster.lib.quantities import about_bytes, format_cpu


@dataclass(slots=True)
class _Left:
    """The part of a node that is not dealt out yet."""

    node: Node
    devices: list[Device]
    cpu_m: int
    memory_bytes: int

    @property
    def all_devices(self) -> int:
        return len(self.node.capacity.devices)


def are_alike(one: Node, other: Node) -> bool:
    """Whether it makes no difference on which of the two nodes a cell is."""
    return (
        one.capacity.cpu_m == other.capacity.cpu_m
        and one.capacity.memory_bytes == other.capacity.memory_bytes
        and one.labels == other.labels
        and one.state is other.state
        and [(d.index, d.model) for d in one.capacity.devices] == [(d.index, d.model) for d in other.capacity.devices]
        and one.capacity.extended_indices() == other.capacity.extended_indices()
    )


def oversubscribed(vcs: Sequence[VirtualCluster], nodes: Sequence[Node]) -> str | None:
    """What is guaranteed beyond what there is, in numbers."""
    missing = deal(vcs, nodes)[1]
    if not missing:
        return None
    have = _total(nodes)
    parts = []
    for model in sorted({model for vc in vcs for model, count in vc.guaranteed.gpus.items() if count}):
        wanted = sum(vc.guaranteed.gpus.get(model, 0) for vc in vcs)
        there = sum(have.gpus.values()) if not model else _of_model(have.gpus, model)
        parts.append(f"{wanted} {model or 'of all'} GPUs of {there}")
    if cpu_m := sum(vc.guaranteed.cpu_m for vc in vcs):
        parts.append(f"{format_cpu(cpu_m)} CPU of {format_cpu(have.cpu_m)}")
    if memory := sum(vc.guaranteed.memory_bytes for vc in vcs):
        parts.append(f"{about_bytes(memory)} memory of {about_bytes(have.memory_bytes)}")
    each = "; ".join(f"{vc}: {what}" for vc, what in missing.items())
    return f"the guarantees together ask for {', '.join(parts)}. No room for {each}"


def deal(vcs: Iterable[VirtualCluster], nodes: Iterable[Node]) -> tuple[dict[tuple[str, str], Node], dict[str, str]]:
    """The cells as nodes of their own, by virtual cluster and node, and what found no room. Whole nodes are dealt
    first, so that a gang finds in its cells what it would find in a private cluster."""
    left = [
        _Left(node, list(node.capacity.devices), node.capacity.cpu_m, node.capacity.memory_bytes)
        for node in sorted(nodes, key=lambda node: node.name)
        if node.state is not NodeState.RETIRED
    ]
    cells: dict[tuple[str, str], Node] = {}
    missing: dict[str, str] = {}
    owners = sorted(vcs, key=lambda vc: (-sum(vc.guaranteed.gpus.values()), vc.name))
    for vc in owners:
        for model, count in sorted(vc.guaranteed.gpus.items(), key=lambda item: (not item[0], item[0])):
            if short := _deal_gpus(vc.name, model, count, left, cells):
                missing[vc.name] = f"{short} {model or 'more'} GPUs"
    for vc in owners:
        if short_of := _deal_cpu(vc, left, cells):
            missing.setdefault(vc.name, short_of)
    return cells, missing


def _deal_gpus(vc: str, model: str, count: int, left: list[_Left], cells: dict[tuple[str, str], Node]) -> int:
    """Deal whole nodes, the largest first, and for the rest the node that it fills best. Returns what found no room."""
    room = [(one, _devices(one, model)) for one in left if one.devices]
    room = [(one, free) for one, free in room if free]
    whole = sorted((item for item in room if len(item[1]) == item[0].all_devices), key=lambda item: -len(item[1]))
    for one, free in whole:
        if len(free) <= count:
            _take_devices(vc, one, free, cells)
            count -= len(free)
    while count > 0:
        room = [(one, free) for one, before in room if (free := [device for device in before if device in one.devices])]
        if not room:
            return count
        enough = [item for item in room if len(item[1]) >= count]
        one, free = min(enough, key=lambda i: len(i[1])) if enough else max(room, key=lambda i: len(i[1]))
        taken = free[:count]
        _take_devices(vc, one, taken, cells)
        count -= len(taken)
    return 0


def _take_devices(vc: str, one: _Left, taken: list[Device], cells: dict[tuple[str, str], Node]) -> None:
    """Deal these devices, with the CPU and memory that belong to such a part of the node."""
    one.devices = [device for device in one.devices if device not in taken] if len(taken) < len(one.devices) else []
    part = len(taken) / one.all_devices
    cpu_m = min(one.cpu_m, int(one.node.capacity.cpu_m * part))
    memory = min(one.memory_bytes, int(one.node.capacity.memory_bytes * part))
    _add(vc, one, taken, cpu_m, memory, cells)


def _deal_cpu(vc: VirtualCluster, left: list[_Left], cells: dict[tuple[str, str], Node]) -> str | None:
    """Deal the CPU and memory that the GPU cells have not brought along, from nodes without GPUs first."""
    if not vc.guaranteed.cpu_m and not vc.guaranteed.memory_bytes:
        return None
    own = [cell for (name, _), cell in cells.items() if name == vc.name]
    cpu_m = vc.guaranteed.cpu_m - sum(cell.capacity.cpu_m for cell in own)
    memory = vc.guaranteed.memory_bytes - sum(cell.capacity.memory_bytes for cell in own)
    for one in sorted(left, key=lambda one: (one.all_devices > 0, one.cpu_m, one.node.name)):
        if cpu_m <= 0 and memory <= 0:
            return None
        take_cpu = max(0, min(cpu_m, one.cpu_m))
        if vc.guaranteed.memory_bytes:
            take_memory = max(0, min(memory, one.memory_bytes))
        else:
            take_memory = min(one.memory_bytes, one.node.capacity.memory_bytes * take_cpu // one.node.capacity.cpu_m)
        if take_cpu or take_memory:
            _add(vc.name, one, [], take_cpu, take_memory, cells)
            cpu_m, memory = cpu_m - take_cpu, memory - take_memory
    if cpu_m > 0:
        return f"{format_cpu(cpu_m)} CPU"
    return f"{about_bytes(memory)} memory" if memory > 0 else None


def _add(
    vc: str, one: _Left, devices: list[Device], cpu_m: int, memory: int, cells: dict[tuple[str, str], Node]
) -> None:
    one.cpu_m -= cpu_m
    one.memory_bytes -= memory
    before = cells.get((vc, one.node.name))
    had = before.capacity if before is not None else Capacity(0, 0)
    others = one.node.capacity.extended
    capacity = Capacity(had.cpu_m + cpu_m, had.memory_bytes + memory, (*had.devices, *devices), extended=others)
    cells[vc, one.node.name] = replace(one.node, capacity=capacity)


def _devices(one: _Left, model: str) -> list[Device]:
    return [device for device in one.devices if not model or device.model.lower() == model.lower()]


def moved(cell: Node, to: Node) -> Node:
    """The same cell on another node."""
    return replace(to, capacity=replace(cell.capacity, extended=to.capacity.extended))


def _total(nodes: Sequence[Node]) -> Share:
    gpus: dict[str, int] = {}
    for node in nodes:
        for device in node.capacity.devices:
            gpus[device.model] = gpus.get(device.model, 0) + 1
    return Share(gpus, sum(node.capacity.cpu_m for node in nodes), sum(node.capacity.memory_bytes for node in nodes))


def _of_model(gpus: Mapping[str, int], model: str) -> int:
    return sum(count for name, count in gpus.items() if name.lower() == model.lower())
