"""Reasons to wait, or to be refused, for want of resources or nodes."""

from collections import Counter
from collections.abc import Sequence

from muster.domain import gpu_models
from muster.domain.clusters import RESERVED
from muster.domain.extended_resources import offered
from muster.domain.needs import in_words, unmet, without_needs
from muster.domain.nodes import Node, NodeState
from muster.domain.reasons import Reason
from muster.domain.resources import Resources
from muster.domain.specs import Spread, Together
from muster.lib.quantities import about_bytes, format_cpu
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.node_index import NodeIndex, suits
from muster.scheduling.capacity.resource_amounts import (
    amount_of,
    amounts,
    extended_kinds,
    has_any,
    is_extended,
    shown,
    shown_free,
    times,
)
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.capacity.topology import domains, label_of, without_label

_WAIT = "it starts when running jobs end, or now if it asks for less"
_NAMED = 3
_TAKES_NO_JOB = (NodeState.CORDONED, NodeState.DRAINING, NodeState.UNREACHABLE, NodeState.JOINING)
_AN_ADMIN = "it starts when that is fixed; `muster describe node/NAME` shows what is wrong"


def lacks(shape: Shape, nodes: NodeIndex) -> str:
    """The kind of resource that the gang lacks now. It is GPUs only if no node has enough of them; otherwise something
    else is missing where they are."""
    usable = list(_suiting(shape, nodes))
    if not usable:
        return "node"
    for kind in ("gpu", *extended_kinds(shape), "cpu", "memory", "task"):
        want, free = amounts(kind, shape, usable)
        if want > free or any(times(kind, group.want, usable) < len(group.members) for group in shape.groups):
            return kind
    kinds = {capacity.shortage(group.want) for group in shape.groups for capacity in usable}
    if None in kinds and shape.gpu_m:
        return "gpu"
    known = ("cpu", "memory", *extended_kinds(shape), "task")
    return next((kind for kind in known if kind in kinds), "gpu" if shape.gpu_m else "cpu")


def short(shape: Shape, nodes: NodeIndex) -> Reason:
    """The gang fits on the cluster, but not now: what it needs, and what is free now."""
    usable = list(_suiting(shape, nodes))
    if not usable:
        return _no_node(shape, nodes)
    if shape.where.spread is Spread.APART and len(usable) < shape.tasks:
        return _too_few_nodes(shape, nodes, len(usable))
    kind = lacks(shape, nodes)
    want, free = amounts(kind, shape, usable)
    one = next((group.want for group in shape.groups if amount_of(kind, group.want)), shape.groups[0].want)
    wanted, available = shown(kind, want, one), shown_free(kind, free)
    gang = f" for {shape.tasks} tasks together" if shape.tasks > 1 and kind != "task" else ""
    numbers: dict[str, int | float | str] = {
        "kind": kind,
        "wanted": wanted,
        "needs": shown_free(kind, want),
        "free": available,
        "tasks": shape.tasks,
    }
    if gang:
        numbers["gang"] = shape.tasks
    if kind == "gpu" and one.gpu_models:
        numbers["models"] = "/".join(one.gpu_models)
    withheld = _withheld(kind, usable, one.gpu_models)
    besides = f"; {withheld} more {'is' if withheld == 1 else 'are'} out of service" if withheld else ""
    if withheld:
        numbers["out_of_service"] = withheld
    if kept_out := _kept_out(shape, nodes):
        besides += f"; {kept_out}"
        numbers.update(_counts(_suited(shape, nodes)))
    if want <= free and (apart := _apart(shape, kind, want, usable)) is not None:
        return Reason(
            "fragmented",
            f"needs {wanted}{gang} {_within(shape)}; {available} free now, but {apart}{besides}",
            "it starts when jobs in one of them end, or now if it asks for less",
            numbers,
        )
    if want <= free:
        count = sum(1 for capacity in usable if has_any(kind, capacity, one))
        each = shown(kind, amount_of(kind, one), one)
        return Reason(
            "fragmented",
            f"needs {wanted}{gang}; {available} free now on {count} node{'s' if count != 1 else ''},"
            f" but not {each} on one node{' for each' if shape.tasks > 1 else ''}{besides}",
            "it starts when jobs on one of them end, or now if a task asks for less",
            {**numbers, "nodes": count, "on_one": each},
        )
    kind = "device" if is_extended(kind) else kind
    return Reason(
        f"no-free-{kind}",
        f"needs {wanted}{gang}; {available} free now{besides}",
        _WAIT if not withheld else f"{_WAIT}; `muster describe node/NAME` shows what is out of service",
        numbers,
    )


def never(shape: Shape, nodes: NodeIndex) -> Reason:
    """The gang never fits: what one node, and all of them, could hold at most. `nodes` have no jobs on them."""
    capacities = list(nodes.by_name.values())
    if not capacities:
        return Reason("no-node", "the cluster has no node", "see `muster get nodes`", {"kind": "node"})
    largest = "; ".join(sorted({_describe(capacity.node) for capacity in capacities}))
    suiting = list(_suiting(shape, nodes))
    if not suiting:
        return Reason("never", f"{_where_words(shape)}", "change `where`", {"largest": largest})
    hopeless = next((g for g in shape.groups if all(capacity.shortage(g.want) for capacity in suiting)), None)
    if hopeless is not None:
        kind = _shortest_kind(hopeless.want, suiting)
        alone = shown(kind, amount_of(kind, hopeless.want), hopeless.want)
        role = hopeless.members[0][0]
        if is_extended(kind) and not any(kind in capacity.free_extended for capacity in capacities):
            names = (name for capacity in capacities for name in capacity.free_extended)
            message = f"one {role} task asks for {alone}, and no node has one: the cluster {offered(names)}"
            return Reason("never", message, "name another cluster, or ask for what it offers", {"largest": largest})
        known = {model for capacity in capacities for model in capacity.node.capacity.gpu_models()}
        wanted = hopeless.want.gpu_models
        if kind == "gpu" and gpu_models.has_none_of(wanted, known):
            message = f"one {role} task asks for {alone}, and no node has one: the cluster"
            reason = f"{message} {gpu_models.models_there(known)}"
            return Reason("never", reason, gpu_models.advice(wanted, known), {"largest": largest})
        message = f"one {role} task asks for {alone}, and no node has that; the largest that could run: {largest}"
        change = "ask for less per task" if shape.tasks > 1 else "ask for less"
    else:
        kind = lacks(shape, nodes)
        want, have = amounts(kind, shape, suiting)
        one = next((group.want for group in shape.groups if amount_of(kind, group.want)), shape.groups[0].want)
        tasks, fewer = f"its {shape.tasks} tasks", "ask for fewer replicas or less per task"
        if shape.tasks == 1:
            tasks, fewer = "its task", "ask for less"
        if want <= have and (limit := _apart(shape, kind, want, suiting)) is not None:
            message = f"{tasks} must run {_within(shape)} and ask for {shown(kind, want, one)}, but {limit}"
            change = f"{fewer}, or for another `together`; admins label nodes"
            return Reason("never", message, change, {"largest": largest})
        change = fewer
        apart = f", and not {shown(kind, amount_of(kind, one), one)} on one node for each" if want <= have else ""
        message = (
            f"{tasks} must run together and ask for {shown(kind, want, one)}, but the whole cluster"
            f" has {shown_free(kind, have)}{apart}; the largest that could run: {largest}"
            + (" on one node" if len(capacities) > 1 else "")
        )
    return Reason("never", message, change, {"largest": largest})


_WITHIN = {Together.RACK: "in one rack", Together.SWITCH: "under one switch", Together.NODE: "on one node"}


def _within(shape: Shape) -> str:
    return _WITHIN[shape.where.together]


def _apart(shape: Shape, kind: str, want: int, capacities: Sequence[NodeCapacity]) -> str | None:
    """What one rack, switch or node has at most, if that is less than the gang wants, and the label that nodes lack."""
    if shape.where.together is Together.ANYWHERE:
        return None
    label = label_of(shape.where)
    by_name = {capacity.name: capacity for capacity in capacities}
    nodes = [capacity.node for capacity in capacities]
    parts = domains(label, nodes).values() if label is not None else [[node] for node in nodes]
    most = max(amounts(kind, shape, [by_name[node.name] for node in part])[1] for part in parts)
    if most >= want:
        return None
    found = f"at most {shown_free(kind, most)} {_within(shape)}"
    if label is None or not (unlabelled := without_label(label, nodes)):
        return found
    lacks_it = "has" if unlabelled == 1 else "have"
    whose = "no node has a" if unlabelled == len(nodes) else f"{unlabelled} of {len(nodes)} nodes {lacks_it} no"
    return f"{found}: {whose} label `{label}`, and a node without it counts alone"


def _suiting(shape: Shape, nodes: NodeIndex) -> list[NodeCapacity]:
    if shape.is_plain:
        return list(nodes.usable())
    names = nodes.nodes_for(shape.where, shape.where_key)
    return [capacity for capacity in nodes.usable() if capacity.name in names]


def _no_node(shape: Shape, nodes: NodeIndex) -> Reason:
    if any(nodes.usable()):
        wished = without_needs(shape.where)
        if wished is not shape.where and any(suits(wished, capacity.node) for capacity in nodes.usable()):
            return Reason("not-in-order", _where_words(shape), _AN_ADMIN, {"kind": "node"})
        return Reason("no-node", _where_words(shape), "change `where`, or see `muster get nodes`", {"kind": "node"})
    # A node that was never reached has none of the labels that `where` may ask for, so all of them are told of.
    suiting = nodes.nodes_for(shape.where, shape.where_key) or nodes.by_name
    found = [capacity.node for name, capacity in nodes.by_name.items() if name in suiting]
    told = ", ".join(_by_state(found, named=True)) or "none is known"
    return Reason("no-node", f"no node is ready: {told}", "`muster get nodes` says why", {"kind": "node"})


def _too_few_nodes(shape: Shape, nodes: NodeIndex, usable: int) -> Reason:
    told = f"its {shape.tasks} tasks need a node each, and {usable} {'is' if usable == 1 else 'are'} usable now"
    if kept_out := _kept_out(shape, nodes):
        told += f"; {kept_out}"
    numbers: dict[str, int | float | str] = {"kind": "node", "wanted": shape.tasks, "free": usable}
    if _not_in_order(shape, nodes):
        return Reason("not-in-order", told, _AN_ADMIN, numbers)
    return Reason("no-node", told, "it starts when more nodes are ready: see `muster get nodes`", numbers)


def _kept_out(shape: Shape, nodes: NodeIndex) -> str:
    """How many nodes would suit but take no job now, by their state."""
    return ", ".join([*_by_state(_suited(shape, nodes)), *_not_in_order(shape, nodes)])


def _suited(shape: Shape, nodes: NodeIndex) -> list[Node]:
    suiting = nodes.nodes_for(shape.where, shape.where_key)
    return [capacity.node for name, capacity in nodes.by_name.items() if name in suiting]


def _counts(found: Sequence[Node]) -> dict[str, int]:
    """How many of the nodes are in each state in which they take no job, by its name."""
    return dict(Counter(str(node.state).lower() for node in found if node.state in _TAKES_NO_JOB))


def _by_state(found: Sequence[Node], *, named: bool = False) -> list[str]:
    """How many of the nodes are in each state in which they take no job, and which, if they are to be named."""
    parts = []
    for state in _TAKES_NO_JOB:
        if those := [node for node in found if node.state is state]:
            told = next((f" ({node.name}: {node.hold})" for node in those if node.hold), "")
            if named and not told:
                more = f" and {len(those) - _NAMED} more" if len(those) > _NAMED else ""
                told = f" ({', '.join(node.name for node in those[:_NAMED])}{more})"
            parts.append(f"{len(those)} node{' is' if len(those) == 1 else 's are'} {state.lower()}{told}")
    return parts


def _not_in_order(shape: Shape, nodes: NodeIndex) -> list[str]:
    """How many nodes would suit if a folder or program that should be there were there."""
    wished = without_needs(shape.where)
    if wished is shape.where:
        return []
    lacking = [
        label
        for one in nodes.usable()
        if suits(wished, one.node)
        for label in unmet(shape.where.labels, one.node.labels)
    ]
    return [
        f"{count} node{'s' if count != 1 else ''} without {in_words(label)}"
        for label, count in Counter(lacking).items()
    ]


def _where_words(shape: Shape) -> str:
    where = shape.where
    parts = []
    if where.nodes:
        parts.append(f"is named {', '.join(where.nodes)}")
    if where.labels:
        parts.append("has " + ", ".join(_label_words(key, value) for key, value in sorted(where.labels.items())))
    if where.not_nodes:
        parts.append(f"is other than {', '.join(where.not_nodes)}")
    return f"no ready node {' and '.join(parts) or 'is suitable'}"


def _label_words(key: str, value: str) -> str:
    return in_words(key) if key.startswith(RESERVED) else f"{key}={value}"


def _shortest_kind(want: Resources, capacities: Sequence[NodeCapacity]) -> str:
    kinds = {capacity.shortage(want) for capacity in capacities}
    for name, count in want.extended:  # where no node has enough of them, nothing else matters
        if all(len(capacity.free_extended.get(name, ())) < count for capacity in capacities):
            return name
    known = ("cpu", "memory", *(name for name, _ in want.extended))
    return next((kind for kind in known if kind in kinds), "gpu")


def _withheld(kind: str, capacities: Sequence[NodeCapacity], models: tuple[str, ...]) -> int:
    """How many devices of the kind are out of service."""
    if is_extended(kind):
        return sum(one.resource == kind for capacity in capacities for one in capacity.node.withheld_extended)
    if kind != "gpu":
        return 0
    wanted = {model.lower() for model in models}
    devices = (device for capacity in capacities for device in capacity.node.withheld)
    return sum(not wanted or device.model.lower() in wanted for device in devices)


def _describe(node: Node) -> str:
    capacity = node.capacity
    counts = {model: sum(d.model == model for d in capacity.devices) for model in capacity.gpu_models()}
    gpus = ", ".join(f"{count} {model}" for model, count in counts.items()) or "no GPU"
    others = "".join(f", {amount} {name}" for name, amount in capacity.extended_amounts())
    return f"{format_cpu(capacity.cpu_m)} CPU, {about_bytes(capacity.memory_bytes)} memory, {gpus}{others}"
