"""How much gangs want and nodes have of "gpu", "cpu", "memory" and "task" (room for tasks), in numbers and in words.
Devices other than GPUs are kinds too, by the name of their resource."""

from collections.abc import Sequence

from muster.domain.resources import Resources
from muster.lib.quantities import about_bytes, format_cpu
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.shapes import Shape

_ENOUGH = 1 << 30


def amounts(kind: str, shape: Shape, capacities: Sequence[NodeCapacity]) -> tuple[int, int]:
    """What the gang wants of the kind, and what the nodes have; of GPUs, those that the hardest task accepts. A node
    that has less than it has given out, such as the pool of an engine that others took some of, has none."""
    models = shape.groups[0].want.gpu_models
    rivals = [group for group in shape.groups if kind != "gpu" or group.want.gpu_models == models]
    want = sum(amount_of(kind, group.want) * len(group.members) for group in rivals)
    if kind == "gpu":
        return want, sum(_free_gpu_m(capacity, models) for capacity in capacities)
    return want, sum(_free(kind, capacity) for capacity in capacities)


def times(kind: str, want: Resources, capacities: Sequence[NodeCapacity]) -> int:
    """How many such tasks the nodes would hold if they needed no other resource."""
    if kind == "gpu" and want.gpus:
        return sum(_times_gpu(capacity, want) for capacity in capacities)
    one = amount_of(kind, want)
    free = (_free(kind, capacity) for capacity in capacities)
    return sum(amount // one for amount in free) if one else _ENOUGH


def _free(kind: str, capacity: NodeCapacity) -> int:
    if is_extended(kind):
        return len(capacity.free_extended.get(kind, ()))
    return max(0, {"memory": capacity.memory_bytes, "cpu": capacity.cpu_m, "task": capacity.tasks}[kind])


def _times_gpu(capacity: NodeCapacity, want: Resources) -> int:
    models = capacity.acceptable(want.gpu_models)
    if not want.shares_gpu:
        return sum(len(capacity.free_devices[model]) // want.gpus for model in models)
    parts = (1000 - used for device, used in capacity.shared.items() if capacity.models.get(device) in models)
    whole = 1000 // want.gpu_share
    return sum(part // want.gpu_share for part in parts) + whole * sum(
        len(capacity.free_devices[model]) for model in models
    )


def _free_gpu_m(capacity: NodeCapacity, models: tuple[str, ...]) -> int:
    accepted = set(capacity.acceptable(models))
    parts = sum(1000 - used for index, used in capacity.shared.items() if capacity.models.get(index) in accepted)
    return 1000 * capacity.all_gpus(models) + parts


def has_any(kind: str, capacity: NodeCapacity, want: Resources) -> bool:
    if kind == "gpu":
        return _free_gpu_m(capacity, want.gpu_models) > 0
    return _free(kind, capacity) > 0


def is_extended(kind: str) -> bool:
    return "/" in kind


def extended_kinds(shape: Shape) -> list[str]:
    return sorted({name for group in shape.groups for name, _ in group.want.extended})


def amount_of(kind: str, want: Resources) -> int:
    if is_extended(kind):
        return dict(want.extended).get(kind, 0)
    return {"gpu": want.gpu_m, "memory": want.memory_bytes, "cpu": want.cpu_m, "task": 1}[kind]


def shown(kind: str, amount: int, want: Resources) -> str:
    if kind == "gpu":
        named = f" of model {' or '.join(want.gpu_models)}" if want.gpu_models else ""
        return f"{amount / 1000:g} GPU{'s' if amount != 1000 else ''}{named}"
    if is_extended(kind):
        return f"{amount} {kind}"
    if kind == "task":
        return f"room for {amount} task{'s' if amount != 1 else ''}"
    return f"{about_bytes(amount)} memory" if kind == "memory" else f"{format_cpu(amount)} CPU"


def shown_free(kind: str, amount: int) -> str:
    if kind == "gpu":
        return f"{amount / 1000:g}"
    if is_extended(kind):
        return str(amount)
    if kind == "task":
        return f"room for {amount}"
    return about_bytes(amount) if kind == "memory" else format_cpu(amount)
