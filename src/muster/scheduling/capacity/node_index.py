"""Nodes by their free capacity, so that the best node for a task is found without looking at all of them.

The nodes are those of the physical cluster, or the cells of one virtual cluster's guarantee. Gangs are placed in both
in the same way.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from muster.domain.nodes import Node
from muster.domain.resources import Amounts, Resources
from muster.domain.specs import ANY_VALUE, Where
from muster.scheduling.capacity.misfits import Misfits
from muster.scheduling.capacity.node_capacity import NodeCapacity
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import Slot

Allowed = Callable[[NodeCapacity, Resources], bool]

_FEW = 64
_ROOMY = 8


class NodeIndex:
    def __init__(self) -> None:
        self.by_name: dict[str, NodeCapacity] = {}
        self.touched: set[str] = set()
        """Nodes on which anything has changed since a reader last emptied this set."""
        self.free_gpu_m = 0
        self.most_gpus = 1
        """The most devices that any node has, or ever had."""
        self.nodes_version = 0
        """Counts how often nodes came, changed or went."""
        self._by_gpus: dict[str, list[dict[str, NodeCapacity]]] = {}
        """Usable nodes by model and by the number of its free devices."""
        self._by_cpu: list[dict[str, NodeCapacity]] = [{} for _ in range(64)]
        self._partial: dict[str, NodeCapacity] = {}
        """Usable nodes with a device that is shared."""
        self._suiting: dict[tuple[object, ...], frozenset[str]] = {}
        self.misfits = Misfits()

    # Nodes

    def put(self, capacity: NodeCapacity) -> None:
        """A node joined, or has changed."""
        self.drop(capacity.name)
        self.nodes_version += 1
        self.most_gpus = max(self.most_gpus, len(capacity.models))
        self.by_name[capacity.name] = capacity
        self._suiting.clear()
        self._enter(capacity)
        self.freed(capacity.name)

    def drop(self, name: str) -> None:
        capacity = self.by_name.pop(name, None)
        if capacity is not None:
            self.nodes_version += 1
            self._leave(capacity)
            self._suiting.clear()
            self.touched.add(name)

    def usable(self) -> Iterator[NodeCapacity]:
        return (capacity for capacity in self.by_name.values() if capacity.is_usable)

    def nodes_for(self, where: Where, key: tuple[object, ...]) -> frozenset[str]:
        """The names of the nodes that the job's `where` allows."""
        if key not in self._suiting:
            self._suiting[key] = frozenset(name for name, one in self.by_name.items() if suits(where, one.node))
        return self._suiting[key]

    # Allocating

    def allocate(self, capacity: NodeCapacity, want: Resources) -> tuple[int, ...]:
        devices = capacity.allocate(want)
        self._move(capacity)
        self.touched.add(capacity.name)
        return devices

    def allocate_exactly(self, slot: Slot) -> None:
        capacity = self.by_name.get(slot.node)
        if capacity is not None:
            capacity.allocate_exactly(slot.resources, slot.devices, slot.extended)
            self._move(capacity)
            self.touched.add(slot.node)

    def free(self, slot: Slot) -> None:
        capacity = self.by_name.get(slot.node)
        if capacity is not None:
            capacity.free(slot.resources, slot.devices, slot.extended)
            self._move(capacity)
            self.freed(slot.node)

    def add_job(self, job_id: str, slots: Iterable[Slot]) -> None:
        """Note on which nodes the job is. Its capacity is allocated by a separate call."""
        for slot in slots:
            capacity = self.by_name.get(slot.node)
            if capacity is not None:
                capacity.jobs[job_id] = None
                self.touched.add(slot.node)

    def remove_job(self, job_id: str, slots: Iterable[Slot]) -> None:
        for slot in slots:
            capacity = self.by_name.get(slot.node)
            if capacity is not None:
                capacity.jobs.pop(job_id, None)
                self.touched.add(slot.node)

    def freed(self, name: str) -> None:
        self.touched.add(name)
        self.misfits.freed(name)

    def may_fit(self, shape: Shape) -> bool:
        """Whether a placement may succeed, as far as free GPUs and the nodes that became freer can tell."""
        trying = self.misfits.worth_trying(shape)
        if trying is False:
            return False
        if trying is True:
            may_fit = shape.one is not None or not shape.has_whole_gpus or self._has_gpus_for(shape)
        else:
            may_fit = self._has_room_on(trying, shape.groups[0].want)
        if not may_fit:
            self.misfits.note(shape)
        return may_fit

    def _has_room_on(self, names: Iterable[str], want: Resources) -> bool:
        for name in names:
            capacity = self.by_name.get(name)
            if capacity is not None and capacity.shortage(want) is None:
                return True
        return False

    def _has_gpus_for(self, shape: Shape) -> bool:
        """Whether enough GPUs are free for the gang, and enough of them on the same nodes for its hardest tasks."""
        if self.free_gpu_m < shape.gpu_m:
            return False
        hardest = shape.groups[0]
        gpus, left = hardest.want.gpus, len(hardest.members)
        for model in self._models(hardest.want.gpu_models):
            buckets = self._by_gpus[model]
            for count in range(gpus, len(buckets)):
                left -= len(buckets[count]) * (count // gpus)
                if left <= 0:
                    return True
        return False

    # Finding

    def fitting(self, want: Resources, allowed: Allowed | None = None, tasks: int = 1) -> Iterator[NodeCapacity]:
        """The nodes that hold the task, the fullest first; or several tasks, which want that much together."""
        if want.extended:
            allowed = _with_extended(want.extended, allowed)
        if not want.gpus:
            yield from self._fitting_cpu(want, allowed, tasks)
            return
        if want.shares_gpu:
            yield from self._fitting_part(want, allowed)
            return
        for bucket in self._buckets(want):
            for capacity in bucket.values() if bucket else ():
                if (
                    capacity.cpu_m >= want.cpu_m
                    and capacity.memory_bytes >= want.memory_bytes
                    and capacity.tasks >= tasks
                    and (allowed is None or allowed(capacity, want))
                ):
                    yield capacity

    def _buckets(self, want: Resources) -> list[dict[str, NodeCapacity]]:
        """Nodes with enough free GPUs, of the preferred model first; without a preference, those with fewest first."""
        if not want.gpu_models and len(self._by_gpus) == 1:
            for stack in self._by_gpus.values():
                return stack[want.gpus :]
        stacks = [self._by_gpus[model] for model in self._models(want.gpu_models)]
        if want.gpu_models:
            return [bucket for stack in stacks for bucket in stack[want.gpus :] if bucket]
        most = max((len(stack) for stack in stacks), default=0)
        return [stack[k] for k in range(want.gpus, most) for stack in stacks if k < len(stack) and stack[k]]

    def roomiest(self, want: Resources, allowed: Allowed | None = None) -> Iterator[NodeCapacity]:
        """A few nodes that hold the task, among those with the most room. For a part of a GPU, the first that fits."""
        if want.shares_gpu:
            return islice(self.fitting(want, allowed), 1)
        if not want.gpus:
            buckets = [bucket for bucket in reversed(self._by_cpu[want.cpu_m.bit_length() :]) if bucket]
        else:
            models = [self._by_gpus[model] for model in self._models(want.gpu_models)]
            most = max((len(one) for one in models), default=0)
            buckets = [one[k] for k in range(most - 1, want.gpus - 1, -1) for one in models if k < len(one)]
        found = (
            capacity
            for bucket in buckets
            for capacity in bucket.values()
            if capacity.shortage(want) is None and (allowed is None or allowed(capacity, want))
        )
        return islice(found, _ROOMY)

    def models(self) -> list[str]:
        return sorted(self._by_gpus)

    def _fitting_cpu(self, want: Resources, allowed: Allowed | None, tasks: int) -> Iterator[NodeCapacity]:
        """Nodes without free devices come first, because a CPU task should leave devices to those who need them."""
        later: list[NodeCapacity] = []
        for bucket in self._by_cpu[want.cpu_m.bit_length() :]:
            for capacity in bucket.values():
                if (
                    capacity.cpu_m >= want.cpu_m
                    and capacity.memory_bytes >= want.memory_bytes
                    and capacity.tasks >= tasks
                ):
                    if allowed is not None and not allowed(capacity, want):
                        continue
                    if any(capacity.free_devices.values()) or (
                        capacity.free_extended and any(capacity.free_extended.values())
                    ):
                        later.append(capacity)
                        if len(later) > _FEW:
                            break
                    else:
                        yield capacity
        yield from later

    def _fitting_part(self, want: Resources, allowed: Allowed | None) -> Iterator[NodeCapacity]:
        """The fullest GPU that is shared already comes first, then a new one on the fullest node."""
        partial: list[tuple[int, int, str, NodeCapacity]] = []
        for capacity in self._partial.values():
            if capacity.cpu_m < want.cpu_m or capacity.memory_bytes < want.memory_bytes or capacity.tasks < 1:
                continue
            models = set(capacity.acceptable(want.gpu_models))
            best = max(
                (
                    used
                    for i, used in capacity.shared.items()
                    if used + want.gpu_share <= 1000 and capacity.models[i] in models
                ),
                default=None,
            )
            if best is not None and (allowed is None or allowed(capacity, want)):
                partial.append((-best, capacity.cpu_m, capacity.name, capacity))
        for _, _, _, capacity in sorted(partial, key=lambda one: one[:3]):
            yield capacity
        whole = Resources(want.cpu_m, want.memory_bytes, 1, want.gpu_models)
        yield from self.fitting(whole, allowed)

    def _models(self, wanted: tuple[str, ...]) -> list[str]:
        if not wanted:
            return list(self._by_gpus)
        lower = [model.lower() for model in wanted]
        return sorted((m for m in self._by_gpus if m.lower() in lower), key=lambda m: lower.index(m.lower()))

    # The index

    def _enter(self, capacity: NodeCapacity) -> None:
        if not capacity.is_usable:
            return
        for model, devices in capacity.free_devices.items():
            self._put(capacity, model, len(devices))
        self._put_cpu(capacity, max(0, capacity.cpu_m).bit_length())
        if capacity.shared:
            self._partial[capacity.name] = capacity

    def _put(self, capacity: NodeCapacity, model: str, count: int) -> None:
        buckets = self._by_gpus.setdefault(model, [])
        while len(buckets) <= count:
            buckets.append({})
        buckets[count][capacity.name] = capacity
        capacity.indexed[model] = count
        self.free_gpu_m += count * 1000

    def _put_cpu(self, capacity: NodeCapacity, bits: int) -> None:
        self._by_cpu[bits][capacity.name] = capacity
        capacity.indexed_cpu = bits

    def _move(self, capacity: NodeCapacity) -> None:
        """Move the node to the buckets that it belongs to now."""
        if not capacity.is_usable:
            return
        indexed = capacity.indexed
        for model, devices in capacity.free_devices.items():
            count = len(devices)
            before = indexed[model]
            if count != before:
                del self._by_gpus[model][before][capacity.name]
                self.free_gpu_m -= before * 1000
                self._put(capacity, model, count)
        bits = capacity.cpu_m.bit_length() if capacity.cpu_m > 0 else 0
        if bits != capacity.indexed_cpu:
            del self._by_cpu[capacity.indexed_cpu][capacity.name]
            self._put_cpu(capacity, bits)
        if capacity.shared:
            self._partial[capacity.name] = capacity
        elif self._partial:
            self._partial.pop(capacity.name, None)

    def _leave(self, capacity: NodeCapacity) -> None:
        if not capacity.is_usable:
            return
        for model, count in capacity.indexed.items():
            del self._by_gpus[model][count][capacity.name]
            self.free_gpu_m -= count * 1000
        capacity.indexed.clear()
        del self._by_cpu[capacity.indexed_cpu][capacity.name]
        self._partial.pop(capacity.name, None)


def _with_extended(want: Amounts, allowed: Allowed | None) -> Allowed:
    """Only nodes on which so many devices other than GPUs are free."""
    if allowed is None:
        return lambda capacity, _: capacity.lacks_extended(want) is None
    return lambda capacity, each: capacity.lacks_extended(want) is None and allowed(capacity, each)


def suits(where: Where, node: Node) -> bool:
    if where.nodes and node.name not in where.nodes:
        return False
    if node.name in where.not_nodes:
        return False
    return all(key in node.labels and value in (node.labels[key], ANY_VALUE) for key, value in where.labels.items())
