"""Puts a whole gang on nodes, or none of it: on as few nodes as will do, and so that large holes stay open."""

from collections.abc import Iterable, Sequence

from muster.domain.resources import Resources, times
from muster.domain.specs import Spread, Together
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.node_index import Allowed, NodeIndex
from muster.scheduling.capacity.shapes import Group, Shape
from muster.scheduling.capacity.topology import domains, label_of
from muster.scheduling.demand import Slot


def place(shape: Shape, nodes: NodeIndex, allowed: Allowed | None = None) -> tuple[Slot, ...] | None:
    """Allocate a slot for every task, or nothing at all. What is known not to fit is not tried again."""
    trying = True if allowed is not None else nodes.misfits.worth_trying(shape)
    if trying is False:
        return None
    slots = _on_these(shape, nodes, trying) if isinstance(trying, list) else _anywhere(shape, nodes, allowed)
    if slots is None and allowed is None:
        nodes.misfits.note(shape)
    return slots


def free_slots(slots: Iterable[Slot], nodes: NodeIndex) -> None:
    for slot in slots:
        nodes.free(slot)


def allocate_slots(slots: Iterable[Slot], nodes: NodeIndex) -> None:
    """Allocate these very slots: what was freed for a trial, or is guaranteed, or was held before a restart."""
    for slot in slots:
        nodes.allocate_exactly(slot)


def _on_these(shape: Shape, nodes: NodeIndex, names: Sequence[str]) -> tuple[Slot, ...] | None:
    """Place a single task that fitted nowhere before: only nodes that became freer since can hold it."""
    want = shape.groups[0].want
    suitable = None if shape.is_plain else nodes.nodes_for(shape.where, shape.where_key)
    found = [
        capacity
        for name in dict.fromkeys(names)
        if (capacity := nodes.by_name.get(name)) is not None
        and capacity.is_usable
        and (suitable is None or name in suitable)
        and capacity.shortage(want) is None
    ]
    if not found:
        return None
    best = min(found, key=lambda capacity: (_left(capacity, want), capacity.name))
    return _allocate_all(nodes, best.name, shape.groups)


def _anywhere(shape: Shape, nodes: NodeIndex, allowed: Allowed | None) -> tuple[Slot, ...] | None:
    if shape.has_whole_gpus and nodes.free_gpu_m < shape.gpu_m:
        return None
    if not shape.is_plain:
        return _where_it_may(shape, nodes, allowed)
    if shape.one is not None:
        want = shape.one.resources
        for capacity in nodes.fitting(want, allowed):
            return (_slot(shape.one.role, shape.one.index, want, nodes, capacity),)
        return None
    return _gang(shape, nodes, allowed)


def _where_it_may(shape: Shape, nodes: NodeIndex, allowed: Allowed | None) -> tuple[Slot, ...] | None:
    """Place the gang on nodes that suit it, and within one rack or under one switch where that is asked."""
    suitable = nodes.nodes_for(shape.where, shape.where_key)
    label = label_of(shape.where)
    if label is None:
        return _gang(shape, nodes, _both(allowed, suitable))
    parts = domains(label, (nodes.by_name[name].node for name in suitable))
    free = {key: sum(nodes.by_name[node.name].all_gpus() for node in part) for key, part in parts.items()}
    for key in sorted(parts, key=lambda key: (free[key], key)):
        if slots := _gang(shape, nodes, _both(allowed, frozenset(node.name for node in parts[key]))):
            return slots
    return None


def _both(allowed: Allowed | None, names: frozenset[str]) -> Allowed:
    if allowed is None:
        return lambda capacity, want: capacity.name in names
    return lambda capacity, want: capacity.name in names and allowed(capacity, want)


def _gang(shape: Shape, nodes: NodeIndex, allowed: Allowed | None) -> tuple[Slot, ...] | None:
    """Place the gang on one node if one holds all of it, else on one GPU model, the preferred first, else on any."""
    if shape.whole is not None:
        capacity = next(nodes.fitting(shape.whole, allowed, shape.tasks), None)
        if capacity is not None:
            return _allocate_all(nodes, capacity.name, shape.groups)
    if shape.where.together is Together.NODE:
        return _parts_on_one(shape, nodes, allowed) if shape.whole is None else None
    wanted = {group.want.gpu_models for group in shape.groups if group.want.gpus}
    if len(wanted) == 1:
        (models,) = wanted
        for model in models or (nodes.models() if len(nodes.models()) > 1 else ()):
            if slots := _spread(_of_model(shape.groups, model), nodes, allowed, shape.where.spread):
                return _as_asked(slots, shape)
    return _spread(shape.groups, nodes, allowed, shape.where.spread)


def _parts_on_one(shape: Shape, nodes: NodeIndex, allowed: Allowed | None) -> tuple[Slot, ...] | None:
    hardest = shape.groups[0].want
    for capacity in list(nodes.fitting(hardest, allowed)):
        only = frozenset([capacity.name])
        if slots := _spread(shape.groups, nodes, _both(allowed, only), Spread.PACK):
            return slots
    return None


def _spread(
    groups: tuple[Group, ...], nodes: NodeIndex, allowed: Allowed | None, spread: Spread
) -> tuple[Slot, ...] | None:
    slots: list[Slot] = []
    used: dict[str, None] = {}
    for group in groups:
        want, left = group.want, list(group.members)
        while left:
            name, count = _next_node(want, len(left), nodes, allowed, used, spread)
            if name is None:
                free_slots(slots, nodes)
                return None
            used[name] = None
            for role, index in left[:count]:
                slots.append(_slot(role, index, want, nodes, nodes.by_name[name]))
            left = left[count:]
    return tuple(slots)


def _next_node(
    want: Resources, tasks: int, nodes: NodeIndex, allowed: Allowed | None, used: dict[str, None], spread: Spread
) -> tuple[str | None, int]:
    """A node that the gang already uses, else the fullest that holds all that is left, else the one that holds most."""
    if spread is Spread.APART:
        for capacity in nodes.fitting(want, allowed):
            if capacity.name not in used:
                return capacity.name, 1
        return None, 0
    for name in used:
        capacity = nodes.by_name[name]
        if capacity.shortage(want) is None and (allowed is None or allowed(capacity, want)):
            return name, min(tasks, _holds(capacity, want))
    if want.gpus == nodes.most_gpus and not want.shares_gpu:  # a node holds one such task, and any free node will do
        found = next(nodes.fitting(want, allowed), None)
        return (None, 0) if found is None else (found.name, 1)
    all_left = None if want.shares_gpu else next(nodes.fitting(_times(want, tasks), allowed, tasks), None)
    if all_left is not None:
        return all_left.name, tasks
    best = max(
        (
            (_holds(capacity, want), -number, capacity.name)
            for number, capacity in enumerate(nodes.roomiest(want, allowed))
        ),
        default=None,
    )
    return (best[2], min(tasks, best[0])) if best is not None else (None, 0)


def _times(want: Resources, tasks: int) -> Resources:
    extended = times(want.extended, tasks) if want.extended else ()
    return Resources(
        want.cpu_m * tasks, want.memory_bytes * tasks, want.gpus * tasks, want.gpu_models, extended=extended
    )


def _holds(capacity: NodeCapacity, want: Resources) -> int:
    """How many such tasks the node holds; at least one."""
    if want.shares_gpu:
        return 1
    counts = [capacity.tasks]
    if want.gpus:
        counts.append(capacity.free_gpus(want.gpu_models) // want.gpus)
    if want.cpu_m:
        counts.append(capacity.cpu_m // want.cpu_m)
    if want.memory_bytes:
        counts.append(capacity.memory_bytes // want.memory_bytes)
    counts += [len(capacity.free_extended[name]) // count for name, count in want.extended]
    return max(1, min(counts))


def _allocate_all(nodes: NodeIndex, name: str, groups: tuple[Group, ...]) -> tuple[Slot, ...]:
    capacity = nodes.by_name[name]
    return tuple(_slot(role, index, group.want, nodes, capacity) for group in groups for role, index in group.members)


def _slot(role: str, index: int, want: Resources, nodes: NodeIndex, capacity: NodeCapacity) -> Slot:
    """Allocate what the task wants on the node."""
    devices = nodes.allocate(capacity, want)
    if not want.extended:
        return Slot(role, index, capacity.name, want, devices)
    return Slot(role, index, capacity.name, want, devices, capacity.allocate_extended(want.extended))


def _of_model(groups: tuple[Group, ...], model: str) -> tuple[Group, ...]:
    return tuple(Group(_with_model(g.want, model), g.members) if g.want.gpus else g for g in groups)


def _with_model(want: Resources, model: str) -> Resources:
    return Resources(want.cpu_m, want.memory_bytes, want.gpus, (model,), want.gpu_share, want.extended)


def _as_asked(slots: tuple[Slot, ...], shape: Shape) -> tuple[Slot, ...]:
    """The slots with the resources as the job asked for them, before a model was chosen."""
    asked = {member: group.want for group in shape.groups for member in group.members}
    return tuple(Slot(s.role, s.index, s.node, asked[s.role, s.index], s.devices, s.extended) for s in slots)


def _left(capacity: NodeCapacity, want: Resources) -> int:
    return capacity.free_gpus(want.gpu_models) - want.gpus
