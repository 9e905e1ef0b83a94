"""The nodes of a cluster as a simulation sees them, with more or fewer GPUs than there are."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from muster.domain.errors import Invalid, Problem
from muster.domain.nodes import Node
from muster.ports.simulating import SimulatedNodes

_PLENTY_CPU_M = 256_000
_PLENTY_BYTES = 2 << 40
_GPUS_PER_NODE = 8
MOST_GPUS = 100_000


def nodes_of(nodes: Iterable[Node]) -> list[SimulatedNodes]:
    """Nodes that are alike make one group. The GPUs of a node are taken to be of one model."""
    kinds = Counter(_kind(node) for node in nodes if node.capacity.cpu_m)
    return [SimulatedNodes(count, *kind) for kind, count in kinds.items()]


def gpus_of(groups: Iterable[SimulatedNodes]) -> int:
    return sum(group.count * group.gpus for group in groups)


def with_more(groups: Sequence[SimulatedNodes], more: Mapping[str, int]) -> list[SimulatedNodes]:
    """The nodes with so many more GPUs of each model, on nodes like those that have the model already. Fewer GPUs take
    away nodes. Raises Invalid if there are not as many."""
    found = list(groups)
    for model, count in more.items():
        found = _added(found, model, count) if count >= 0 else _taken_away(found, model, -count)
    if gpus_of(found) > MOST_GPUS:
        raise Invalid(f"a simulation has at most {MOST_GPUS} GPUs")
    return found


def _kind(node: Node) -> tuple[int, str, int, int]:
    devices = node.capacity.devices
    return len(devices), devices[0].model if devices else "", node.capacity.cpu_m, node.capacity.memory_bytes


def _added(groups: list[SimulatedNodes], model: str, count: int) -> list[SimulatedNodes]:
    alike = next((group for group in groups if group.gpus and group.model.lower() == model.lower()), None)
    kind = alike or SimulatedNodes(0, min(count, _GPUS_PER_NODE) or 1, model, _PLENTY_CPU_M, _PLENTY_BYTES)
    whole, rest = divmod(count, kind.gpus)
    more = [replace(kind, count=whole), replace(kind, count=1, gpus=rest)]
    return [*groups, *(group for group in more if group.count and group.gpus)]


def _taken_away(groups: list[SimulatedNodes], model: str, count: int) -> list[SimulatedNodes]:
    """Whole nodes first; the last one loses only some of its GPUs."""
    left: list[SimulatedNodes] = []
    for group in groups:
        if not group.gpus or group.model.lower() != model.lower() or not count:
            left.append(group)
            continue
        whole = min(group.count, count // group.gpus)
        count -= whole * group.gpus
        kept = group.count - whole
        if kept and 0 < count < group.gpus:
            left.append(replace(group, count=1, gpus=group.gpus - count))
            kept, count = kept - 1, 0
        if kept:
            left.append(replace(group, count=kept))
    if count:
        raise Invalid(
            "the simulation cannot be run",
            problems=(Problem("moreGpus", f"there are not as many GPUs of model {model}", "take away fewer"),),
        )
    return left
