"""The nodes of the cluster as Slurm last described them, and the capacity that jobs are admitted against."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster.backends.slurm.answers.amounts import Amounts
from muster.backends.slurm.answers.node_tables import NodeRecord, PartitionRecord
from muster.backends.slurm.answers.queries import Machines
from muster.backends.slurm.node_use import engine_use
from muster.backends.slurm.options import Order, SlurmOptions
from muster.domain.nodes import Node, NodeState
from muster.domain.pools import Pool, PoolCapacity
from muster.domain.resources import Capacity, Device

_EVERYTHING = 1 << 40
_MANY_GPUS = 4096
"""So many GPUs of each model may wait in Slurm if it orders jobs itself. The scheduler counts them one by one."""
UNNAMED_MODEL = "GPU"
"""The model of GPUs without a gres type."""


class ClusterView:
    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self.nodes: tuple[Node, ...] = ()
        self.pool: Pool | None = None
        self.gpu_types: tuple[str, ...] = ()
        self.partitions: tuple[PartitionRecord, ...] = ()

    def update(
        self, machines: Machines, own: Amounts, own_by_node: Mapping[str, Amounts], options: SlurmOptions
    ) -> bool:
        """`own` is what Muster's own jobs hold. Returns whether anything has changed."""
        before = self.nodes, self.pool
        self.partitions = tuple(machines.partitions)
        names = _used_partitions(machines.partitions, options)
        records = [one for one in machines.nodes if not names or names & set(one.partitions)]
        self.gpu_types = tuple(sorted({type_ for one in records for type_ in one.gpus if type_}))
        records = [with_featured_gpus(one, options) for one in records]
        self.nodes = tuple(
            _listed(one, own_by_node.get(one.name, Amounts()), self._cluster, options)
            for one in sorted(records, key=lambda one: one.name)
        )
        self.pool = pool_of(records, own, options, _note(machines.partitions, names))
        return (self.nodes, self.pool) != before


def _used_partitions(partitions: Iterable[PartitionRecord], options: SlurmOptions) -> set[str]:
    """The partitions that jobs go to: those of the file, or Slurm's own default."""
    named = [settings.partition for settings in (options.submit, *options.virtual.values()) if settings.partition]
    found = {name for text in named for name in text.split(",")}
    if options.submit.partition is None:
        found |= {one.name for one in partitions if one.is_default}
    return found


def _note(partitions: Iterable[PartitionRecord], names: set[str]) -> str:
    closed = sorted(one.name for one in partitions if one.name in names and not one.is_up)
    return f"the partition {', '.join(closed)} starts no jobs now" if closed else ""


def _listed(record: NodeRecord, own: Amounts, cluster: str, options: SlurmOptions) -> Node:
    models = [model for type_, count in sorted(record.gpus.items()) for model in [_model(type_, options)] * count]
    devices = tuple(Device(index, model) for index, model in enumerate(models))
    capacity = Capacity(record.cpus * 1000, record.memory_bytes, devices)
    labels = {key: value for key, _, value in (feature.partition("=") for feature in record.features)}
    return Node(
        record.name,
        cluster,
        record.address,
        capacity,
        _state(record),
        _about(record),
        labels=labels,
        partitions=record.partitions,
        use=engine_use(record, own),
    )


def _about(record: NodeRecord) -> str:
    """What is special about it, with Slurm's own words for its state, and what somebody wrote down there."""
    sentence = record.condition.problem or record.condition.remark
    told = f"{sentence} ({'+'.join(record.condition.words)})" if sentence else ""
    return "; ".join(words for words in (told, record.reason) if words)


def _state(record: NodeRecord) -> NodeState:
    if record.condition.is_usable:
        return NodeState.READY
    words = set(record.condition.words)
    if words & {"DRAIN", "DRAINED", "DRAINING"} and not words & {"DOWN", "NOT_RESPONDING"}:
        return NodeState.DRAINING
    return NodeState.UNREACHABLE


def with_featured_gpus(record: NodeRecord, options: SlurmOptions) -> NodeRecord:
    """GPUs without a type get that of the feature of their node which says what they are."""
    feature = next((name for name in options.gpu_features if name in record.features), "")
    if not feature or not record.gpus.get(""):
        return record
    return replace(record, gpus=_typed(record.gpus, feature), used_gpus=_typed(record.used_gpus, feature))


def _typed(gpus: Mapping[str, int], feature: str) -> Mapping[str, int]:
    found = Counter(gpus)
    found[feature] += found.pop("", 0)
    return {type_: count for type_, count in found.items() if count}


def pool_of(records: Iterable[NodeRecord], own: Amounts, options: SlurmOptions, note: str = "") -> Pool:
    known = list(records)
    usable = [one for one in known if one.condition.is_usable]
    largest = PoolCapacity(
        max((one.cpus for one in known), default=0) * 1000,
        max((one.memory_bytes for one in known), default=0),
        _most_gpus(known, options),
    )
    total = _capacity((_whole(one) for one in known), options)
    return Pool(total, _available(usable, own, options), largest, _head_start(total, largest, options), note)


def _available(usable: list[NodeRecord], own: Amounts, options: SlurmOptions) -> PoolCapacity:
    """What is there, less what others hold. Of each resource, others hold what is used beyond our own jobs."""
    there = _capacity((_whole(one) for one in usable), options)
    used = _capacity((Amounts(one.used_cpus, one.used_memory_bytes, one.used_gpus) for one in usable), options)
    ours = _capacity([own], options)
    spare = ours.gpus.get(UNNAMED_MODEL, 0)
    gpus: dict[str, int] = {}
    for model, count in there.gpus.items():
        others = max(0, used.gpus.get(model, 0) - ours.gpus.get(model, 0))
        known = min(others, spare) if model != UNNAMED_MODEL else 0
        spare -= known
        gpus[model] = max(0, count - (others - known))
    return PoolCapacity(
        max(0, there.cpu_m - max(0, used.cpu_m - ours.cpu_m)),
        max(0, there.memory_bytes - max(0, used.memory_bytes - ours.memory_bytes)),
        gpus,
    )


def _head_start(total: PoolCapacity, largest: PoolCapacity, options: SlurmOptions) -> PoolCapacity:
    if options.order is Order.SLURM:
        return PoolCapacity(_EVERYTHING, _EVERYTHING, dict.fromkeys(total.gpus, _MANY_GPUS))
    times = options.head_start
    gpus = {model: count * times for model, count in largest.gpus.items()}
    return PoolCapacity(largest.cpu_m * times, largest.memory_bytes * times, gpus)


def _whole(record: NodeRecord) -> Amounts:
    return Amounts(record.cpus, record.memory_bytes, record.gpus)


def _capacity(parts: Iterable[Amounts], options: SlurmOptions) -> PoolCapacity:
    cpus = memory_bytes = 0
    gpus: Counter[str] = Counter()
    for part in parts:
        cpus, memory_bytes = cpus + part.cpus, memory_bytes + part.memory_bytes
        for type_, count in part.gpus.items():
            gpus[_model(type_, options)] += count
    return PoolCapacity(cpus * 1000, memory_bytes, {model: count for model, count in gpus.items() if count})


def _most_gpus(records: Iterable[NodeRecord], options: SlurmOptions) -> dict[str, int]:
    found: Counter[str] = Counter()
    for record in records:
        for type_, count in record.gpus.items():
            model = _model(type_, options)
            found[model] = max(found[model], count)
    return {model: count for model, count in found.items() if count}


def _model(type_: str, options: SlurmOptions) -> str:
    return options.gpu_models.get(type_) or options.gpu_features.get(type_, type_) or UNNAMED_MODEL
