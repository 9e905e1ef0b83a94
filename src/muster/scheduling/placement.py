"""Putting a whole gang on nodes, or none of it; on as few nodes as will do, and leaving large holes open."""

from collections.abc import Iterable, Sequence

from muster.domain.resources import Resources
from muster.domain.specs import Spread, Together
from muster.scheduling.arena import Allowed, Arena
from muster.scheduling.demand import Slot
from muster.scheduling.ledger import NodeLedger
from muster.scheduling.shapes import Group, Shape
from muster.scheduling.topology import domains, label_of


def place(shape: Shape, arena: Arena, allowed: Allowed | None = None) -> tuple[Slot, ...] | None:
    """Take a place for every task, or leave everything as it was. What is known not to fit is not tried again."""
    trying = True if allowed is not None else arena.worth_trying(shape)
    if trying is False:
        return None
    slots = _on_these(shape, arena, trying) if isinstance(trying, list) else _anywhere(shape, arena, allowed)
    if slots is None and allowed is None:
        arena.misfit(shape)
    return slots


def undo(slots: Iterable[Slot], arena: Arena) -> None:
    for slot in slots:
        arena.give_back(slot)


def retake(slots: Iterable[Slot], arena: Arena) -> None:
    """These very places: what was given back for a trial, or is promised, or was held before a restart."""
    for slot in slots:
        arena.take_exactly(slot)


def _on_these(shape: Shape, arena: Arena, names: Sequence[str]) -> tuple[Slot, ...] | None:
    """A single task that fitted nowhere before: only nodes that have grown since can hold it."""
    want = shape.groups[0].want
    suitable = None if shape.is_plain else arena.nodes_for(shape.where, shape.where_key)
    found = [
        ledger
        for name in dict.fromkeys(names)
        if (ledger := arena.ledgers.get(name)) is not None
        and ledger.node.is_usable
        and (suitable is None or name in suitable)
        and ledger.shortage(want) is None
    ]
    if not found:
        return None
    best = min(found, key=lambda ledger: (_left(ledger, want), ledger.name))
    return _take(arena, best.name, shape.groups)


def _anywhere(shape: Shape, arena: Arena, allowed: Allowed | None) -> tuple[Slot, ...] | None:
    if shape.gpu_m >= 1000 and arena.free_gpu_m < shape.gpu_m and not any(g.want.shares_gpu for g in shape.groups):
        return None
    if not shape.is_plain:
        return _where_it_may(shape, arena, allowed)
    if shape.one is not None:
        ledger = next(arena.fitting(shape.one.resources, allowed), None)
        return None if ledger is None else _take(arena, ledger.name, shape.groups)
    return _gang(shape, arena, allowed)


def _where_it_may(shape: Shape, arena: Arena, allowed: Allowed | None) -> tuple[Slot, ...] | None:
    """Only nodes that suit; and all of them in one rack or under one switch where that is asked."""
    suitable = arena.nodes_for(shape.where, shape.where_key)
    label = label_of(shape.where)
    if label is None:
        return _gang(shape, arena, _both(allowed, suitable))
    parts = domains(label, (arena.ledgers[name].node for name in suitable))
    free = {key: sum(arena.ledgers[node.name].all_gpus() for node in nodes) for key, nodes in parts.items()}
    for key in sorted(parts, key=lambda key: (free[key], key)):
        if slots := _gang(shape, arena, _both(allowed, frozenset(node.name for node in parts[key]))):
            return slots
    return None


def _both(allowed: Allowed | None, names: frozenset[str]) -> Allowed:
    if allowed is None:
        return lambda ledger, want: ledger.name in names
    return lambda ledger, want: ledger.name in names and allowed(ledger, want)


def _gang(shape: Shape, arena: Arena, allowed: Allowed | None) -> tuple[Slot, ...] | None:
    """On one node if one holds all; else of one GPU model, the preferred first; else as it comes."""
    if shape.whole is not None:
        ledger = next(arena.fitting(shape.whole, allowed), None)
        if ledger is not None:
            return _take(arena, ledger.name, shape.groups)
    if shape.where.together is Together.NODE:
        return _parts_on_one(shape, arena, allowed) if shape.whole is None else None
    wanted = {group.want.gpu_models for group in shape.groups if group.want.gpus}
    if len(wanted) == 1:
        (models,) = wanted
        for model in models or (arena.models() if len(arena.models()) > 1 else ()):
            if slots := _spread(_of_model(shape.groups, model), arena, allowed, shape.where.spread):
                return _as_asked(slots, shape)
    return _spread(shape.groups, arena, allowed, shape.where.spread)


def _parts_on_one(shape: Shape, arena: Arena, allowed: Allowed | None) -> tuple[Slot, ...] | None:
    hardest = shape.groups[0].want
    for ledger in list(arena.fitting(hardest, allowed)):
        only = frozenset([ledger.name])
        if slots := _spread(shape.groups, arena, _both(allowed, only), Spread.PACK):
            return slots
    return None


def _spread(
    groups: tuple[Group, ...], arena: Arena, allowed: Allowed | None, spread: Spread
) -> tuple[Slot, ...] | None:
    slots: list[Slot] = []
    used: dict[str, None] = {}
    for group in groups:
        want, left = group.want, list(group.members)
        while left:
            name, count = _next_node(want, len(left), arena, allowed, used, spread)
            if name is None:
                undo(slots, arena)
                return None
            used[name] = None
            for role, index in left[:count]:
                slots.append(Slot(role, index, name, want, arena.take(name, want)))
            left = left[count:]
    return tuple(slots)


def _next_node(
    want: Resources, tasks: int, arena: Arena, allowed: Allowed | None, used: dict[str, None], spread: Spread
) -> tuple[str | None, int]:
    """A node that the gang already uses; else the fullest that holds all that is left; else the one that holds most."""
    if spread is Spread.APART:
        for ledger in arena.fitting(want, allowed):
            if ledger.name not in used:
                return ledger.name, 1
        return None, 0
    for name in used:
        ledger = arena.ledgers[name]
        if ledger.shortage(want) is None and (allowed is None or allowed(ledger, want)):
            return name, min(tasks, _holds(ledger, want))
    if not want.shares_gpu and (all_left := next(arena.fitting(_times(want, tasks), allowed), None)) is not None:
        return all_left.name, tasks
    best = max(
        ((_holds(ledger, want), -number, ledger.name) for number, ledger in enumerate(arena.roomiest(want, allowed))),
        default=None,
    )
    return (best[2], min(tasks, best[0])) if best is not None else (None, 0)


def _times(want: Resources, tasks: int) -> Resources:
    return Resources(want.cpu_m * tasks, want.memory_bytes * tasks, want.gpus * tasks, want.gpu_models)


def _holds(ledger: NodeLedger, want: Resources) -> int:
    """How many such tasks the node holds, at least one."""
    if want.shares_gpu:
        return 1
    counts = []
    if want.gpus:
        counts.append(ledger.free_gpus(want.gpu_models) // want.gpus)
    if want.cpu_m:
        counts.append(ledger.cpu_m // want.cpu_m)
    if want.memory_bytes:
        counts.append(ledger.memory_bytes // want.memory_bytes)
    return max(1, min(counts, default=1 << 30))


def _take(arena: Arena, name: str, groups: tuple[Group, ...]) -> tuple[Slot, ...]:
    if len(groups) == 1 and len(groups[0].members) == 1:
        role, index = groups[0].members[0]
        return (Slot(role, index, name, groups[0].want, arena.take(name, groups[0].want)),)
    return tuple(
        Slot(role, index, name, group.want, arena.take(name, group.want))
        for group in groups
        for role, index in group.members
    )


def _of_model(groups: tuple[Group, ...], model: str) -> tuple[Group, ...]:
    return tuple(
        Group(Resources(g.want.cpu_m, g.want.memory_bytes, g.want.gpus, (model,), g.want.gpu_share), g.members)
        if g.want.gpus
        else g
        for g in groups
    )


def _as_asked(slots: tuple[Slot, ...], shape: Shape) -> tuple[Slot, ...]:
    """With the resources as the job wrote them: the model was ours to choose."""
    asked = {member: group.want for group in shape.groups for member in group.members}
    return tuple(Slot(s.role, s.index, s.node, asked[s.role, s.index], s.devices) for s in slots)


def _left(ledger: NodeLedger, want: Resources) -> int:
    return ledger.free_gpus(want.gpu_models) - want.gpus
