"""Reasons in words: what is missing, the numbers, and what would change it."""

from collections.abc import Iterable, Sequence

from muster.domain.nodes import Node
from muster.domain.reasons import Reason
from muster.domain.resources import Resources
from muster.lib.quantities import about_bytes, format_cpu
from muster.scheduling.demand import JobDemand, TaskDemand
from muster.scheduling.ledger import NodeLedger


def backing_off(seconds: float) -> Reason:
    return Reason(
        "backing-off",
        f"waits {seconds:.0f} s more before it is tried again",
        "it starts by itself after that",
        {"seconds": round(seconds, 1)},
    )


def behind(name: str, ahead: int | None = None) -> Reason:
    place = "" if ahead is None else f", {ahead} ahead of it in the queue"
    numbers: dict[str, int | float | str] = {"behind": name} if ahead is None else {"behind": name, "ahead": ahead}
    return Reason("behind", f"waits behind {name}{place}", f"it moves up when {name} starts or leaves", numbers)


def short(job: JobDemand, task: TaskDemand, usable: Sequence[NodeLedger], every: Iterable[NodeLedger]) -> Reason:
    """The gang fits the cluster, but not now."""
    if not usable:
        states = ", ".join(sorted({str(ledger.node.state) for ledger in every})) or "none known"
        return Reason("no-node", f"no node is ready ({states})", "see `muster get nodes`", {"kind": "node"})
    want = _gang_total(job)
    free = max(usable, key=lambda ledger: (ledger.free_gpus(task.resources.gpu_models), ledger.cpu_m))
    kind = free.shortage(task.resources) or _gang_shortage(want, usable)
    wanted, available = _amounts(kind, want, usable, task.resources.gpu_models)
    return Reason(
        f"no-free-{kind}",
        f"needs {wanted} for {len(job.tasks)} task{'s' if len(job.tasks) > 1 else ''} together; {available} free now",
        "it starts when running jobs end, or now if it asks for less",
        {"kind": kind, "wanted": wanted, "free": available},
    )


def never(job: JobDemand, task: TaskDemand, nodes: Sequence[Node]) -> Reason:
    """No moment will come: what one node, and all together, could hold at most."""
    if not nodes:
        return Reason("no-node", "the cluster has no node", "see `muster get nodes`", {"kind": "node"})
    want = task.resources
    largest = "; ".join(sorted({_describe(node) for node in nodes}))
    ledgers = [NodeLedger.of(node) for node in nodes]
    alone = min((ledger.shortage(want) or "" for ledger in ledgers), key=len)
    if alone:
        wanted, _ = _amounts(alone, want, ledgers, want.gpu_models)
        message = f"one {task.role} task asks for {wanted}, and no node has that; the largest that could run: {largest}"
    else:
        kind = _gang_shortage(_gang_total(job), ledgers)
        wanted, available = _amounts(kind, _gang_total(job), ledgers, want.gpu_models)
        message = (
            f"its {len(job.tasks)} tasks must run together and ask for {wanted}, but the whole cluster has {available};"
            f" the largest that could run: {largest}" + (" on one node" if len(nodes) > 1 else "")
        )
    return Reason("never", message, "ask for fewer replicas or less per task", {"largest": largest})


def _gang_total(job: JobDemand) -> Resources:
    return Resources(
        sum(task.resources.cpu_m for task in job.tasks),
        sum(task.resources.memory_bytes for task in job.tasks),
        sum(task.resources.gpus for task in job.tasks),
    )


def _gang_shortage(want: Resources, ledgers: Sequence[NodeLedger]) -> str:
    if want.gpus > sum(len(free) for ledger in ledgers for free in ledger.devices.values()):
        return "gpu"
    if want.memory_bytes > sum(ledger.memory_bytes for ledger in ledgers):
        return "memory"
    return "cpu"


def _amounts(kind: str, want: Resources, ledgers: Sequence[NodeLedger], models: tuple[str, ...]) -> tuple[str, str]:
    if kind == "gpu":
        named = f" of model {' or '.join(models)}" if models else ""
        free = sum(ledger.free_gpus(models) for ledger in ledgers)
        return f"{want.gpus} GPU{'s' if want.gpus != 1 else ''}{named}", str(free)
    if kind == "memory":
        return f"{about_bytes(want.memory_bytes)} memory", about_bytes(sum(ledger.memory_bytes for ledger in ledgers))
    return f"{format_cpu(want.cpu_m)} CPU", format_cpu(sum(ledger.cpu_m for ledger in ledgers))


def _describe(node: Node) -> str:
    capacity = node.capacity
    counts = {model: sum(d.model == model for d in capacity.devices) for model in capacity.gpu_models()}
    gpus = ", ".join(f"{count} {model}" for model, count in counts.items()) or "no GPU"
    return f"{format_cpu(capacity.cpu_m)} CPU, {about_bytes(capacity.memory_bytes)} memory, {gpus}"
