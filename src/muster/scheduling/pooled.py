"""A cluster whose engine places tasks itself, as the scheduler sees it: one node with the pooled capacity."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from zlib import crc32

from muster.domain import gpu_models
from muster.domain.extended_resources import offered
from muster.domain.nodes import Node, NodeState
from muster.domain.pools import Pool, PoolCapacity
from muster.domain.reasons import Reason
from muster.domain.resources import Capacity, Device, ExtendedDevice, Resources, total
from muster.lib.quantities import about_bytes, format_bytes, format_cpu
from muster.scheduling.demand import JobDemand, TaskDemand

_MODELS = 100_000
_PER_MODEL = 10_000


def pooled_node(cluster: str, pool: Pool | None) -> Node:
    """What is available, and the head start that may wait inside the engine. Named like its cluster. While the engine
    has not said what it has, nothing is handed over."""
    if pool is None:
        note = f"cluster {cluster} has not said yet what it can use"
        return Node(cluster, cluster, "", Capacity(0, 0), NodeState.JOINING, note)
    amounts = (pool.available, pool.head_start)
    models = {model: sum(one.gpus.get(model, 0) for one in amounts) for one in amounts for model in one.gpus}
    others = total(tuple(one.extended.items()) for one in amounts)
    capacity = Capacity(
        sum(one.cpu_m for one in amounts),
        sum(one.memory_bytes for one in amounts),
        tuple(_devices(models)),
        extended=tuple(ExtendedDevice(name, number) for name, count in others for number in range(count)),
    )
    return Node(cluster, cluster, "", capacity, NodeState.READY, pool.note)


def never_fits(pool: Pool | None, job: JobDemand) -> Reason | None:
    """Why the gang, at its smallest, is more than the engine could ever run. Unknown capacity refuses nobody."""
    if pool is None:
        return None
    tasks = _smallest(job)
    known = [model for model, count in pool.total.gpus.items() if count]
    for task in tasks:
        wanted = task.resources.gpu_models
        if task.resources.gpus and gpu_models.has_none_of(wanted, known):
            asked = f"a task of {task.role} asks for {'/'.join(wanted)} GPUs"
            missing = f"{asked}, and no node has one: the cluster {gpu_models.models_there(known)}"
            return Reason("never", missing, gpu_models.advice(wanted, known))
    message = next(_too_large(pool, tasks), None)
    return None if message is None else Reason("never", message, change="ask for less")


def with_others(pool: Pool, reason: Reason) -> Reason:
    """The reason of a job that finds no room, with how much of the engine is not there for Muster at all."""
    whole, there = pool.total, pool.available
    shown: Callable[[int], str] = format_cpu
    match reason.numbers.get("kind"):
        case "cpu":
            total_there, left = whole.cpu_m, there.cpu_m
        case "memory":
            total_there, left, shown = whole.memory_bytes, there.memory_bytes, about_bytes
        case "gpu":
            models = str(reason.numbers.get("models", ""))
            total_there, left, shown = _gpus_of(models, whole), _gpus_of(models, there), str
        case _:
            return reason
    if not reason.code.startswith("no-free-") or left >= total_there:
        return reason
    besides = f"of {shown(total_there)} in all, {shown(total_there - left)} are used by others or out of service"
    return replace(reason, message=f"{reason.message}; {besides}")


def _gpus_of(models: str, capacity: PoolCapacity) -> int:
    """Those of models that a reason names, as in `A100/V100`; of all models if it names none."""
    wanted = models.lower().split("/")
    return sum(count for model, count in capacity.gpus.items() if not models or model.lower() in wanted)


def _devices(models: Mapping[str, int]) -> Iterator[Device]:
    """A model's devices have the same indices after every restart, so that held ones are recognised."""
    for model, count in sorted(models.items()):
        first = crc32(model.encode()) % _MODELS * _PER_MODEL
        yield from (Device(first + number, model) for number in range(count))


def _smallest(job: JobDemand) -> list[TaskDemand]:
    least = {role.role: role.least for role in job.elastic}
    return [task for task in job.tasks if task.index < least.get(task.role, task.index + 1)]


def _too_large(pool: Pool, tasks: list[TaskDemand]) -> Iterator[str]:
    missing = {name for task in tasks for name, _ in task.resources.extended if not pool.total.extended.get(name)}
    if missing:
        yield f"it asks for {', '.join(sorted(missing))}, and the cluster {offered(pool.total.extended)}"
    for task in tasks:
        if shortage := _shortage(pool.largest_node, task.resources):
            yield f"a task of {task.role} asks for {shortage} on one node"
    gpus, cpu_m = sum(one.resources.gpus for one in tasks), sum(one.resources.cpu_m for one in tasks)
    memory = sum(one.resources.memory_bytes for one in tasks)
    models = tuple({model for one in tasks for model in one.resources.gpu_models})
    known = models if all(one.resources.gpu_models for one in tasks) else ()
    whole = Resources(cpu_m, memory, gpus, known, extended=total(one.resources.extended for one in tasks))
    if shortage := _shortage(pool.total, whole, together=True):
        yield f"its {len(tasks)} tasks ask for {shortage} in all"


def _shortage(capacity: PoolCapacity, want: Resources, *, together: bool = False) -> str:
    """The devices of one task are of one model; those of a gang need not be."""
    wanted = {model.lower() for model in want.gpu_models}
    counts = [count for model, count in capacity.gpus.items() if not wanted or model.lower() in wanted]
    most = sum(counts) if together else max(counts, default=0)
    if want.gpus > most:
        model = f" {'/'.join(want.gpu_models)}" if want.gpu_models else ""
        return f"{want.gpus}{model} GPU{'s' if want.gpus > 1 else ''}, and there are at most {most}"
    if want.cpu_m > capacity.cpu_m:
        return f"{format_cpu(want.cpu_m)} CPUs, and there are at most {format_cpu(capacity.cpu_m)}"
    if want.memory_bytes > capacity.memory_bytes:
        asked, most_bytes = format_bytes(want.memory_bytes), format_bytes(capacity.memory_bytes)
        return f"{asked} of memory, and there is at most {most_bytes}"
    for name, count in want.extended:
        if count > (most_devices := capacity.extended.get(name, 0)):
            return f"{count} {name}, and there are at most {most_devices}"
    return ""
