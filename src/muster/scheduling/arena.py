"""Nodes with their free capacity, indexed so that the best place is found without looking at all of them.

An arena is the physical cluster, or the part of it that is promised to a virtual cluster. Both place gangs in the same
way; only what stands behind a node differs.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from muster.domain.nodes import Node
from muster.domain.resources import Resources
from muster.domain.specs import ANY_VALUE, Where
from muster.scheduling.demand import Slot
from muster.scheduling.ledger import NodeLedger
from muster.scheduling.shapes import Shape

Allowed = Callable[[NodeLedger, Resources], bool]

_LOG_LIMIT = 4096
"""How many growths are remembered one by one; beyond that a shape is simply tried again."""
_FEW = 64
_ROOMY = 8


class Arena:
    def __init__(self) -> None:
        self.ledgers: dict[str, NodeLedger] = {}
        self.touched: set[str] = set()
        """Nodes on which anything changed since a reader last emptied this."""
        self.free_gpu_m = 0
        self.most_gpus = 1
        """No node has, or ever had, more."""
        self.nodes_version = 0
        """Moves on when nodes come, change or go."""
        self._by_gpus: dict[str, list[dict[str, NodeLedger]]] = {}
        """Usable nodes by model and by the number of its free devices."""
        self._by_cpu: list[dict[str, NodeLedger]] = [{} for _ in range(64)]
        self._partial: dict[str, NodeLedger] = {}
        """Usable nodes with a device that is shared."""
        self._suiting: dict[tuple[object, ...], frozenset[str]] = {}
        self._grown: list[str] = []
        self._grown_base = 0
        self._misfits: dict[int, int] = {}
        """Shape → the length of the log when it was last found not to fit."""

    # Nodes

    def put(self, ledger: NodeLedger) -> None:
        """A node joined, or is another than before."""
        self.drop(ledger.name)
        self.nodes_version += 1
        self.most_gpus = max(self.most_gpus, len(ledger.models))
        self.ledgers[ledger.name] = ledger
        self._suiting.clear()
        self._enter(ledger)
        self.grew(ledger.name)

    def drop(self, name: str) -> None:
        ledger = self.ledgers.pop(name, None)
        if ledger is not None:
            self.nodes_version += 1
            self._leave(ledger)
            self._suiting.clear()
            self.touched.add(name)

    def usable(self) -> Iterator[NodeLedger]:
        return (ledger for ledger in self.ledgers.values() if ledger.node.is_usable)

    def nodes_for(self, where: Where, key: tuple[object, ...]) -> frozenset[str]:
        """Names of the nodes that suit."""
        if key not in self._suiting:
            self._suiting[key] = frozenset(name for name, one in self.ledgers.items() if suits(where, one.node))
        return self._suiting[key]

    # Taking and giving

    def take(self, name: str, want: Resources) -> tuple[int, ...]:
        ledger = self.ledgers[name]
        devices = ledger.take(want)
        self._move(ledger)
        self.touched.add(name)
        return devices

    def take_exactly(self, slot: Slot) -> None:
        ledger = self.ledgers.get(slot.node)
        if ledger is not None:
            ledger.take_exactly(slot.resources, slot.devices)
            self._move(ledger)
            self.touched.add(slot.node)

    def give_back(self, slot: Slot) -> None:
        ledger = self.ledgers.get(slot.node)
        if ledger is not None:
            ledger.give_back(slot.resources, slot.devices)
            self._move(ledger)
            self.grew(slot.node)

    def seat(self, job_id: str, slots: Iterable[Slot]) -> None:
        """Remember who is where; capacity is taken apart from this."""
        for slot in slots:
            ledger = self.ledgers.get(slot.node)
            if ledger is not None:
                ledger.jobs[job_id] = None
                self.touched.add(slot.node)

    def unseat(self, job_id: str, slots: Iterable[Slot]) -> None:
        for slot in slots:
            ledger = self.ledgers.get(slot.node)
            if ledger is not None:
                ledger.jobs.pop(job_id, None)
                self.touched.add(slot.node)

    def grew(self, name: str) -> None:
        self.touched.add(name)
        self._grown.append(name)
        if len(self._grown) > _LOG_LIMIT:
            self._grown_base += len(self._grown)
            self._grown.clear()

    # What is known not to fit

    @property
    def moment(self) -> int:
        """Moves on whenever something became free."""
        return self._grown_base + len(self._grown)

    def misfit(self, shape: Shape) -> None:
        self._misfits[shape.number] = self.moment

    def forget_misfits(self) -> None:
        self._misfits.clear()

    def worth_trying(self, shape: Shape) -> list[str] | bool:
        """Whether a placement may succeed: no, yes, or only on these nodes."""
        since = self._misfits.get(shape.number)
        if since is None or since < self._grown_base:
            return True
        new = self._grown[since - self._grown_base :]
        if not new:
            return False
        if shape.tasks > 1 or len(new) > _FEW:
            return True
        return new

    def may_fit(self, shape: Shape) -> bool:
        """The same, having looked at those nodes."""
        trying = self.worth_trying(shape)
        if isinstance(trying, bool):
            return trying
        want = shape.groups[0].want
        ledgers = self.ledgers
        if any(name in ledgers and ledgers[name].shortage(want) is None for name in trying):
            return True
        self.misfit(shape)
        return False

    # Finding

    def fitting(self, want: Resources, allowed: Allowed | None = None) -> Iterator[NodeLedger]:
        """Nodes that hold the task, the fullest first."""
        if not want.gpus:
            yield from self._fitting_cpu(want, allowed)
            return
        if want.shares_gpu:
            yield from self._fitting_part(want, allowed)
            return
        for bucket in self._buckets(want):
            for ledger in bucket.values():
                if (
                    ledger.cpu_m >= want.cpu_m
                    and ledger.memory_bytes >= want.memory_bytes
                    and (allowed is None or allowed(ledger, want))
                ):
                    yield ledger

    def _buckets(self, want: Resources) -> list[dict[str, NodeLedger]]:
        """Nodes with enough free GPUs: of the preferred model first; without a preference, those with fewest first."""
        stacks = [self._by_gpus[model] for model in self._models(want.gpu_models)]
        if want.gpu_models or len(stacks) == 1:
            return [bucket for stack in stacks for bucket in stack[want.gpus :] if bucket]
        most = max((len(stack) for stack in stacks), default=0)
        return [stack[k] for k in range(want.gpus, most) for stack in stacks if k < len(stack) and stack[k]]

    def roomiest(self, want: Resources, allowed: Allowed | None = None) -> Iterator[NodeLedger]:
        """A few nodes that hold the task, among those with the most room. Parts of cards: as they come."""
        if want.shares_gpu:
            return islice(self.fitting(want, allowed), 1)
        if not want.gpus:
            buckets = [bucket for bucket in reversed(self._by_cpu[want.cpu_m.bit_length() :]) if bucket]
        else:
            models = [self._by_gpus[model] for model in self._models(want.gpu_models)]
            most = max((len(one) for one in models), default=0)
            buckets = [one[k] for k in range(most - 1, want.gpus - 1, -1) for one in models if k < len(one)]
        found = (
            ledger
            for bucket in buckets
            for ledger in bucket.values()
            if ledger.shortage(want) is None and (allowed is None or allowed(ledger, want))
        )
        return islice(found, _ROOMY)

    def models(self) -> list[str]:
        return sorted(self._by_gpus)

    def _fitting_cpu(self, want: Resources, allowed: Allowed | None) -> Iterator[NodeLedger]:
        """Nodes without free GPUs first: a CPU task should not stand in the way of those who need them."""
        later: list[NodeLedger] = []
        for bucket in self._by_cpu[want.cpu_m.bit_length() :]:
            for ledger in bucket.values():
                if ledger.cpu_m >= want.cpu_m and ledger.memory_bytes >= want.memory_bytes:
                    if allowed is not None and not allowed(ledger, want):
                        continue
                    if any(ledger.free.values()):
                        later.append(ledger)
                        if len(later) > _FEW:
                            break
                    else:
                        yield ledger
        yield from later

    def _fitting_part(self, want: Resources, allowed: Allowed | None) -> Iterator[NodeLedger]:
        """Cards that are shared already first, the fullest of them; then a new one on the fullest node."""
        partial: list[tuple[int, int, str, NodeLedger]] = []
        for ledger in self._partial.values():
            if ledger.cpu_m < want.cpu_m or ledger.memory_bytes < want.memory_bytes:
                continue
            models = set(ledger.acceptable(want.gpu_models))
            best = max(
                (
                    used
                    for i, used in ledger.shared.items()
                    if used + want.gpu_share <= 1000 and ledger.models[i] in models
                ),
                default=None,
            )
            if best is not None and (allowed is None or allowed(ledger, want)):
                partial.append((-best, ledger.cpu_m, ledger.name, ledger))
        for _, _, _, ledger in sorted(partial, key=lambda one: one[:3]):
            yield ledger
        whole = Resources(want.cpu_m, want.memory_bytes, 1, want.gpu_models)
        yield from self.fitting(whole, allowed)

    def _models(self, wanted: tuple[str, ...]) -> list[str]:
        if not wanted:
            return list(self._by_gpus)
        lower = [model.lower() for model in wanted]
        return sorted((m for m in self._by_gpus if m.lower() in lower), key=lambda m: lower.index(m.lower()))

    # The index

    def _enter(self, ledger: NodeLedger) -> None:
        if not ledger.node.is_usable:
            return
        for model, devices in ledger.free.items():
            self._put(ledger, model, len(devices))
        self._put_cpu(ledger, max(0, ledger.cpu_m).bit_length())
        if ledger.shared:
            self._partial[ledger.name] = ledger

    def _put(self, ledger: NodeLedger, model: str, count: int) -> None:
        buckets = self._by_gpus.setdefault(model, [])
        while len(buckets) <= count:
            buckets.append({})
        buckets[count][ledger.name] = ledger
        ledger.indexed[model] = count
        self.free_gpu_m += count * 1000

    def _put_cpu(self, ledger: NodeLedger, bits: int) -> None:
        self._by_cpu[bits][ledger.name] = ledger
        ledger.indexed_cpu = bits

    def _move(self, ledger: NodeLedger) -> None:
        """Where it belongs now; most takings change but one of its places in the index."""
        if not ledger.node.is_usable:
            return
        indexed = ledger.indexed
        for model, devices in ledger.free.items():
            count = len(devices)
            before = indexed[model]
            if count != before:
                del self._by_gpus[model][before][ledger.name]
                self.free_gpu_m -= before * 1000
                self._put(ledger, model, count)
        bits = ledger.cpu_m.bit_length() if ledger.cpu_m > 0 else 0
        if bits != ledger.indexed_cpu:
            del self._by_cpu[ledger.indexed_cpu][ledger.name]
            self._put_cpu(ledger, bits)
        if ledger.shared:
            self._partial[ledger.name] = ledger
        elif self._partial:
            self._partial.pop(ledger.name, None)

    def _leave(self, ledger: NodeLedger) -> None:
        if not ledger.node.is_usable:
            return
        for model, count in ledger.indexed.items():
            del self._by_gpus[model][count][ledger.name]
            self.free_gpu_m -= count * 1000
        ledger.indexed.clear()
        del self._by_cpu[ledger.indexed_cpu][ledger.name]
        self._partial.pop(ledger.name, None)


def suits(where: Where, node: Node) -> bool:
    if where.nodes and node.name not in where.nodes:
        return False
    if node.name in where.not_nodes:
        return False
    return all(key in node.labels and value in (node.labels[key], ANY_VALUE) for key, value in where.labels.items())
