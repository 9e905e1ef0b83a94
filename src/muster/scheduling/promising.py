"""What virtual clusters are promised, as places: every node's devices, CPU and memory are dealt out to them as cells.

The cells of a virtual cluster are an arena of their own, in which its jobs are placed as in a private cluster of that
size. A job that has its places there is promised them: whoever borrows those very devices has to leave. So an owner
waits no longer than it would alone, whatever the others do. Which node a cell is on does not matter to the promise:
two nodes that are alike exchange their cells while nobody stands in them, which saves interrupting borrowers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muster.domain.nodes import Node, NodeState
from muster.domain.resources import Capacity, Device
from muster.domain.virtual_clusters import Share, VirtualCluster
from muster.lib.quantities import about_bytes, format_cpu
from muster.scheduling.arena import Arena
from muster.scheduling.ledger import NodeLedger


@dataclass(slots=True)
class _Left:
    """What of a node is not dealt out yet."""

    node: Node
    devices: list[Device]
    cpu_m: int
    memory_bytes: int

    @property
    def of_all(self) -> int:
        return len(self.node.capacity.devices)


@dataclass(slots=True)
class Promises:
    """Cells by virtual cluster and node. The arenas of those that are promised something."""

    arenas: dict[str, Arena] = field(default_factory=dict)

    def deal(self, vcs: Iterable[VirtualCluster], nodes: Iterable[Node]) -> None:
        """Anew, for these nodes. What cannot be dealt any more is left out: the promise is as good as the hardware."""
        cells = deal(vcs, nodes)[0]
        self.arenas = {}
        for (vc, _), cell in sorted(cells.items()):
            self.arenas.setdefault(vc, Arena()).put(NodeLedger(cell))

    def are_empty_on(self, node: str) -> bool:
        """Nobody stands in a cell of the node."""
        return all(node not in arena.ledgers or not arena.ledgers[node].jobs for arena in self.arenas.values())

    def exchange(self, one: Node, other: Node) -> None:
        """The cells of two nodes that are alike, with nobody in them."""
        for arena in self.arenas.values():
            mine, theirs = arena.ledgers.get(one.name), arena.ledgers.get(other.name)
            if mine is not None:
                arena.drop(one.name)
            if theirs is not None:
                arena.drop(other.name)
                arena.put(NodeLedger(_moved(theirs.node, one)))
            if mine is not None:
                arena.put(NodeLedger(_moved(mine.node, other)))


def are_alike(one: Node, other: Node) -> bool:
    return (
        one.capacity.cpu_m == other.capacity.cpu_m
        and one.capacity.memory_bytes == other.capacity.memory_bytes
        and one.labels == other.labels
        and one.state is other.state
        and [(d.index, d.model) for d in one.capacity.devices] == [(d.index, d.model) for d in other.capacity.devices]
    )


def oversubscribed(vcs: Sequence[VirtualCluster], nodes: Sequence[Node]) -> str | None:
    """What is promised beyond what there is, in numbers."""
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
    """Cells as nodes of their own, by virtual cluster and node; and what found no room. Whole nodes first, so that a
    gang finds in its cells what it would find in a private cluster."""
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
    """Whole nodes, the largest first; for the rest the node that is filled best by it. Answers what found no room."""
    room = [(one, _devices(one, model)) for one in left if one.devices]
    room = [(one, free) for one, free in room if free]
    whole = sorted((item for item in room if len(item[1]) == item[0].of_all), key=lambda item: -len(item[1]))
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
    """With the CPU and memory that belong to such a part of the node."""
    one.devices = [device for device in one.devices if device not in taken] if len(taken) < len(one.devices) else []
    part = len(taken) / one.of_all
    cpu_m = min(one.cpu_m, int(one.node.capacity.cpu_m * part))
    memory = min(one.memory_bytes, int(one.node.capacity.memory_bytes * part))
    _add(vc, one, taken, cpu_m, memory, cells)


def _deal_cpu(vc: VirtualCluster, left: list[_Left], cells: dict[tuple[str, str], Node]) -> str | None:
    """What the GPU cells have not brought along; from nodes without GPUs first."""
    if not vc.guaranteed.cpu_m and not vc.guaranteed.memory_bytes:
        return None
    own = [cell for (name, _), cell in cells.items() if name == vc.name]
    cpu_m = vc.guaranteed.cpu_m - sum(cell.capacity.cpu_m for cell in own)
    memory = vc.guaranteed.memory_bytes - sum(cell.capacity.memory_bytes for cell in own)
    for one in sorted(left, key=lambda one: (one.of_all > 0, one.cpu_m, one.node.name)):
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
    capacity = Capacity(had.cpu_m + cpu_m, had.memory_bytes + memory, (*had.devices, *devices))
    cells[vc, one.node.name] = replace(one.node, capacity=capacity)


def _devices(one: _Left, model: str) -> list[Device]:
    return [device for device in one.devices if not model or device.model.lower() == model.lower()]


def _moved(cell: Node, to: Node) -> Node:
    return replace(to, capacity=cell.capacity)


def _total(nodes: Sequence[Node]) -> Share:
    gpus: dict[str, int] = {}
    for node in nodes:
        for device in node.capacity.devices:
            gpus[device.model] = gpus.get(device.model, 0) + 1
    return Share(gpus, sum(node.capacity.cpu_m for node in nodes), sum(node.capacity.memory_bytes for node in nodes))


def _of_model(gpus: Mapping[str, int], model: str) -> int:
    return sum(count for name, count in gpus.items() if name.lower() == model.lower())
