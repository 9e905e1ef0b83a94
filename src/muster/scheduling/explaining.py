"""Reasons in words: what is missing, the numbers, and what would change it."""

from collections import Counter
from collections.abc import Sequence

from muster.domain.clusters import RESERVED
from muster.domain.needs import in_words, unmet, without_needs
from muster.domain.nodes import Node, NodeState
from muster.domain.reasons import Reason
from muster.domain.resources import Resources
from muster.domain.specs import Spread, Together
from muster.lib.quantities import about_bytes, format_cpu
from muster.scheduling.arena import Arena, suits
from muster.scheduling.demand import JobDemand
from muster.scheduling.ledger import NodeLedger
from muster.scheduling.shapes import Shape
from muster.scheduling.topology import domains, label_of, without_label

_ENOUGH = 1 << 30
_WAIT = "it starts when running jobs end, or now if it asks for less"
_AN_ADMIN = "it starts when that is mended; `muster describe node/NAME` tells what is wrong"


def backing_off(seconds: float) -> Reason:
    return Reason(
        "backing-off",
        f"waits {seconds:.0f} s more before it is tried again",
        "it starts by itself after that",
        {"seconds": round(seconds, 1)},
    )


def makes_way(name: str, is_reclaimed: bool) -> Reason:
    if is_reclaimed:
        return Reason(
            "reclaimed",
            f"gave back to {name} what its virtual cluster had borrowed",
            "it goes on by itself when there is room",
            {"for": name},
        )
    return Reason("preempted", f"made way for {name}", "it goes on by itself when there is room", {"for": name})


def resized(before: int, after: int) -> Reason:
    return Reason(
        "resize",
        f"restarts with {after} tasks instead of {before}",
        "it starts again at once",
        {"before": before, "after": after},
    )


def behind(name: str, ahead: int | None = None) -> Reason:
    place = "" if ahead is None else f", {ahead} ahead of it in the queue"
    numbers: dict[str, int | float | str] = {"behind": name} if ahead is None else {"behind": name, "ahead": ahead}
    return Reason("behind", f"waits behind {name}{place}", f"it moves up when {name} starts or leaves", numbers)


def being_left(names: Sequence[str]) -> Reason:
    return Reason(
        "being-left",
        f"has its places; {', '.join(names)} still {'leaves' if len(names) == 1 else 'leave'} them",
        "it starts when they have gone, after their grace at the latest",
        {"leaving": len(names)},
    )


def reserved(name: str, at: float) -> Reason:
    return Reason(
        "reserved",
        f"what is free is reserved for {name}",
        "it may start before that with a time limit short enough to be gone by then",
        {"for": name, "at": round(at, 3)},
    )


def only_promised(vc: str) -> Reason:
    return Reason(
        "share",
        f"all that {vc} is guaranteed is in use, and it does not borrow",
        "it starts when other jobs of the virtual cluster end",
        {"vc": vc},
    )


def not_interruptible(vc: str) -> Reason:
    return Reason(
        "share",
        f"all that {vc} is guaranteed is in use, and a job that refuses preemption cannot borrow",
        "it starts when other jobs of the virtual cluster end, or at once with `preemptible: true` if there is room",
        {"vc": vc},
    )


def lacks(shape: Shape, arena: Arena) -> str:
    """The kind of resource that keeps the gang out now: GPUs only when no node has enough of them, for where they are
    it is something else that lacks."""
    usable = list(_suiting(shape, arena))
    if not usable:
        return "node"
    for kind in ("gpu", "cpu", "memory"):
        want, free = _amounts(kind, shape, usable)
        if want > free or any(_times(kind, group.want, usable) < len(group.members) for group in shape.groups):
            return kind
    kinds = {ledger.shortage(group.want) for group in shape.groups for ledger in usable}
    if None in kinds and shape.gpu_m:
        return "gpu"
    return next((kind for kind in ("cpu", "memory") if kind in kinds), "gpu" if shape.gpu_m else "cpu")


def short(shape: Shape, arena: Arena) -> Reason:
    """The gang fits the cluster, but not now: what is free now, with nothing of this gang placed."""
    usable = list(_suiting(shape, arena))
    if not usable:
        return _no_node(shape, arena)
    if shape.where.spread is Spread.APART and len(usable) < shape.tasks:
        return _too_few_nodes(shape, arena, len(usable))
    kind = lacks(shape, arena)
    want, free = _amounts(kind, shape, usable)
    one = next((group.want for group in shape.groups if _of(kind, group.want)), shape.groups[0].want)
    wanted, available = _show(kind, want, one), _show_free(kind, free)
    gang = f" for {shape.tasks} tasks together" if shape.tasks > 1 else ""
    numbers: dict[str, int | float | str] = {"kind": kind, "wanted": wanted, "free": available}
    withheld = _withheld(usable, one.gpu_models) if kind == "gpu" else 0
    besides = f"; {withheld} more {'is' if withheld == 1 else 'are'} out of service" if withheld else ""
    if withheld:
        numbers["out_of_service"] = withheld
    if kept_out := _kept_out(shape, arena):
        besides += f"; {kept_out}"
    if want <= free and (apart := _apart(shape, kind, want, usable)) is not None:
        return Reason(
            "fragmented",
            f"needs {wanted}{gang} {_within(shape)}; {available} free now, but {apart}{besides}",
            "it starts when jobs in one of them end, or now if it asks for less",
            numbers,
        )
    if want <= free:
        nodes = sum(1 for ledger in usable if _has(kind, ledger, one))
        each = _show(kind, _of(kind, one), one)
        return Reason(
            "fragmented",
            f"needs {wanted}{gang}; {available} free now on {nodes} node{'s' if nodes != 1 else ''},"
            f" but not {each} on one node{' for each' if shape.tasks > 1 else ''}{besides}",
            "it starts when jobs on one of them end, or now if a task asks for less",
            {**numbers, "nodes": nodes, "on_one": each},
        )
    return Reason(
        f"no-free-{kind}",
        f"needs {wanted}{gang}; {available} free now{besides}",
        _WAIT if not withheld else f"{_WAIT}; `muster describe node/NAME` tells what is out of service",
        numbers,
    )


def never(job: JobDemand, shape: Shape, arena: Arena) -> Reason:
    """No moment will come: what one node, and all together, could hold at most. The arena is empty of jobs."""
    ledgers = list(arena.ledgers.values())
    if not ledgers:
        return Reason("no-node", "the cluster has no node", "see `muster get nodes`", {"kind": "node"})
    largest = "; ".join(sorted({_describe(ledger.node) for ledger in ledgers}))
    suiting = list(_suiting(shape, arena))
    if not suiting:
        return Reason("never", f"{_where_words(shape)}", "change `where`", {"largest": largest})
    hopeless = next((g for g in shape.groups if all(ledger.shortage(g.want) for ledger in suiting)), None)
    if hopeless is not None:
        kind = _shortest_kind(hopeless.want, suiting)
        alone = _show(kind, _of(kind, hopeless.want), hopeless.want)
        role = hopeless.members[0][0]
        message = f"one {role} task asks for {alone}, and no node has that; the largest that could run: {largest}"
    else:
        kind = lacks(shape, arena)
        want, have = _amounts(kind, shape, suiting)
        one = next((group.want for group in shape.groups if _of(kind, group.want)), shape.groups[0].want)
        tasks = f"its {shape.tasks} tasks" if shape.tasks > 1 else "its task"
        if want <= have and (limit := _apart(shape, kind, want, suiting)) is not None:
            message = f"{tasks} must run {_within(shape)} and ask for {_show(kind, want, one)}, but {limit}"
            change = "ask for fewer replicas or less per task, or for another `together`; admins label nodes"
            return Reason("never", message, change, {"largest": largest})
        apart = f", and not {_show(kind, _of(kind, one), one)} on one node for each" if want <= have else ""
        message = (
            f"{tasks} must run together and ask for {_show(kind, want, one)}, but the whole cluster"
            f" has {_show_free(kind, have)}{apart}; the largest that could run: {largest}"
            + (" on one node" if len(ledgers) > 1 else "")
        )
    return Reason("never", message, "ask for fewer replicas or less per task", {"largest": largest})


_WITHIN = {Together.RACK: "in one rack", Together.SWITCH: "under one switch", Together.NODE: "on one node"}


def _within(shape: Shape) -> str:
    return _WITHIN[shape.where.together]


def _apart(shape: Shape, kind: str, want: int, ledgers: Sequence[NodeLedger]) -> str | None:
    """What one rack, switch or node has at most, where that is less than the gang wants; and the label that nodes
    lack, for a node without it counts alone."""
    if shape.where.together is Together.ANYWHERE:
        return None
    label = label_of(shape.where)
    by_name = {ledger.name: ledger for ledger in ledgers}
    nodes = [ledger.node for ledger in ledgers]
    parts = domains(label, nodes).values() if label is not None else [[node] for node in nodes]
    most = max(_amounts(kind, shape, [by_name[node.name] for node in part])[1] for part in parts)
    if most >= want:
        return None
    found = f"at most {_show_free(kind, most)} {_within(shape)}"
    if label is None or not (unlabelled := without_label(label, nodes)):
        return found
    lacks_it = "has" if unlabelled == 1 else "have"
    whose = "no node has a" if unlabelled == len(nodes) else f"{unlabelled} of {len(nodes)} nodes {lacks_it} no"
    return f"{found}: {whose} label `{label}`, and a node without it counts alone"


def _suiting(shape: Shape, arena: Arena) -> list[NodeLedger]:
    if shape.is_plain:
        return list(arena.usable())
    names = arena.nodes_for(shape.where, shape.where_key)
    return [ledger for ledger in arena.usable() if ledger.name in names]


def _no_node(shape: Shape, arena: Arena) -> Reason:
    if any(arena.usable()):
        wished = without_needs(shape.where)
        if wished is not shape.where and any(suits(wished, ledger.node) for ledger in arena.usable()):
            return Reason("not-in-order", _where_words(shape), _AN_ADMIN, {"kind": "node"})
        return Reason("no-node", _where_words(shape), "change `where`, or see `muster get nodes`", {"kind": "node"})
    told = _kept_out(shape, arena) or "none is known"
    return Reason("no-node", f"no node is ready: {told}", "see `muster get nodes`", {"kind": "node"})


def _too_few_nodes(shape: Shape, arena: Arena, usable: int) -> Reason:
    told = f"its {shape.tasks} tasks need a node each, and {usable} {'is' if usable == 1 else 'are'} usable now"
    if kept_out := _kept_out(shape, arena):
        told += f"; {kept_out}"
    numbers: dict[str, int | float | str] = {"kind": "node", "wanted": shape.tasks, "free": usable}
    if _not_in_order(shape, arena):
        return Reason("not-in-order", told, _AN_ADMIN, numbers)
    return Reason("no-node", told, "it starts when more nodes are ready: see `muster get nodes`", numbers)


def _kept_out(shape: Shape, arena: Arena) -> str:
    """Nodes that would suit and take nothing now, counted by what they are."""
    suiting = arena.nodes_for(shape.where, shape.where_key)
    states = [ledger.node.state for name, ledger in arena.ledgers.items() if name in suiting]
    parts = []
    for state in (NodeState.CORDONED, NodeState.DRAINING, NodeState.UNREACHABLE, NodeState.JOINING):
        if count := states.count(state):
            parts.append(f"{count} node{' is' if count == 1 else 's are'} {state.lower()}")
    return ", ".join([*parts, *_not_in_order(shape, arena)])


def _not_in_order(shape: Shape, arena: Arena) -> list[str]:
    """Nodes that would do if something were there that should be."""
    wished = without_needs(shape.where)
    if wished is shape.where:
        return []
    lacking = [
        label
        for one in arena.usable()
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


def _shortest_kind(want: Resources, ledgers: Sequence[NodeLedger]) -> str:
    kinds = {ledger.shortage(want) for ledger in ledgers}
    return next((kind for kind in ("cpu", "memory") if kind in kinds), "gpu")


def _amounts(kind: str, shape: Shape, ledgers: Sequence[NodeLedger]) -> tuple[int, int]:
    """What the gang wants of the kind, and what the nodes have. GPUs: of the models that the hardest task accepts."""
    models = shape.groups[0].want.gpu_models
    rivals = [group for group in shape.groups if kind != "gpu" or group.want.gpu_models == models]
    want = sum(_of(kind, group.want) * len(group.members) for group in rivals)
    if kind == "gpu":
        return want, sum(_free_gpu_m(ledger, models) for ledger in ledgers)
    if kind == "memory":
        return want, sum(ledger.memory_bytes for ledger in ledgers)
    return want, sum(ledger.cpu_m for ledger in ledgers)


def _times(kind: str, want: Resources, ledgers: Sequence[NodeLedger]) -> int:
    """How many such tasks the nodes would hold if they needed nothing but this."""
    if kind == "gpu" and want.gpus:
        return sum(_times_gpu(ledger, want) for ledger in ledgers)
    one = _of(kind, want)
    free = (ledger.memory_bytes if kind == "memory" else ledger.cpu_m for ledger in ledgers)
    return sum(amount // one for amount in free) if one else _ENOUGH


def _times_gpu(ledger: NodeLedger, want: Resources) -> int:
    models = ledger.acceptable(want.gpu_models)
    if not want.shares_gpu:
        return sum(len(ledger.free[model]) // want.gpus for model in models)
    parts = (1000 - used for device, used in ledger.shared.items() if ledger.models.get(device) in models)
    whole = 1000 // want.gpu_share
    return sum(part // want.gpu_share for part in parts) + whole * sum(len(ledger.free[model]) for model in models)


def _free_gpu_m(ledger: NodeLedger, models: tuple[str, ...]) -> int:
    accepted = set(ledger.acceptable(models))
    parts = sum(1000 - used for index, used in ledger.shared.items() if ledger.models.get(index) in accepted)
    return 1000 * ledger.all_gpus(models) + parts


def _withheld(ledgers: Sequence[NodeLedger], models: tuple[str, ...]) -> int:
    wanted = {model.lower() for model in models}
    devices = (device for ledger in ledgers for device in ledger.node.withheld)
    return sum(not wanted or device.model.lower() in wanted for device in devices)


def _has(kind: str, ledger: NodeLedger, want: Resources) -> bool:
    if kind == "gpu":
        return _free_gpu_m(ledger, want.gpu_models) > 0
    return (ledger.memory_bytes if kind == "memory" else ledger.cpu_m) > 0


def _of(kind: str, want: Resources) -> int:
    return {"gpu": want.gpu_m, "memory": want.memory_bytes, "cpu": want.cpu_m}[kind]


def _show(kind: str, amount: int, want: Resources) -> str:
    if kind == "gpu":
        named = f" of model {' or '.join(want.gpu_models)}" if want.gpu_models else ""
        return f"{amount / 1000:g} GPU{'s' if amount != 1000 else ''}{named}"
    return f"{about_bytes(amount)} memory" if kind == "memory" else f"{format_cpu(amount)} CPU"


def _show_free(kind: str, amount: int) -> str:
    if kind == "gpu":
        return f"{amount / 1000:g}"
    return about_bytes(amount) if kind == "memory" else format_cpu(amount)


def _describe(node: Node) -> str:
    capacity = node.capacity
    counts = {model: sum(d.model == model for d in capacity.devices) for model in capacity.gpu_models()}
    gpus = ", ".join(f"{count} {model}" for model, count in counts.items()) or "no GPU"
    return f"{format_cpu(capacity.cpu_m)} CPU, {about_bytes(capacity.memory_bytes)} memory, {gpus}"
