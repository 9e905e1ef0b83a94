"""Reasons in words: what is missing, the numbers, and what would change it."""

from collections.abc import Iterable, Sequence

from muster.domain.nodes import Node
from muster.domain.reasons import Reason
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


def short(
    job: JobDemand, task: TaskDemand, kind: str, usable: Sequence[NodeLedger], every: Iterable[NodeLedger]
) -> Reason:
    """The gang fits the cluster, but not now: what is free now, with nothing of this gang placed."""
    if not usable:
        states = ", ".join(sorted({str(ledger.node.state) for ledger in every})) or "none known"
        return Reason("no-node", f"no node is ready ({states})", "see `muster get nodes`", {"kind": "node"})
    want, free = _amounts(kind, job, task, usable)
    wanted, available = _show(kind, want, task), _show_free(kind, free)
    gang = f" for {len(job.tasks)} tasks together" if len(job.tasks) > 1 else ""
    apart = f", but not {_show(kind, _of_task(kind, task), task)} on one node" if want <= free else ""
    return Reason(
        f"no-free-{kind}",
        f"needs {wanted}{gang}; {available} free now{apart}",
        "it starts when running jobs end, or now if it asks for less",
        {"kind": kind, "wanted": wanted, "free": available},
    )


def never(job: JobDemand, task: TaskDemand, kind: str, ledgers: Sequence[NodeLedger]) -> Reason:
    """No moment will come: what one node, and all together, could hold at most."""
    if not ledgers:
        return Reason("no-node", "the cluster has no node", "see `muster get nodes`", {"kind": "node"})
    largest = "; ".join(sorted({_describe(ledger.node) for ledger in ledgers}))
    if all(ledger.shortage(task.resources) for ledger in ledgers):
        alone = _show(kind, _of_task(kind, task), task)
        message = f"one {task.role} task asks for {alone}, and no node has that; the largest that could run: {largest}"
    else:
        want, have = _amounts(kind, job, task, ledgers)
        apart = f", and not {_show(kind, _of_task(kind, task), task)} on one node for each" if want <= have else ""
        message = (
            f"its {len(job.tasks)} tasks must run together and ask for {_show(kind, want, task)}, but the whole cluster"
            f" has {_show_free(kind, have)}{apart}; the largest that could run: {largest}"
            + (" on one node" if len(ledgers) > 1 else "")
        )
    return Reason("never", message, "ask for fewer replicas or less per task", {"largest": largest})


def _amounts(kind: str, job: JobDemand, task: TaskDemand, ledgers: Sequence[NodeLedger]) -> tuple[int, int]:
    """What the gang wants of the kind, and what the nodes have. GPUs: of the models that the task accepts."""
    models = task.resources.gpu_models
    rivals = [one for one in job.tasks if kind != "gpu" or one.resources.gpu_models == models]
    want = sum(_of_task(kind, one) for one in rivals)
    if kind == "gpu":
        return want, sum(ledger.all_gpus(models) for ledger in ledgers)
    if kind == "memory":
        return want, sum(ledger.memory_bytes for ledger in ledgers)
    return want, sum(ledger.cpu_m for ledger in ledgers)


def _of_task(kind: str, task: TaskDemand) -> int:
    want = task.resources
    return {"gpu": want.gpus, "memory": want.memory_bytes, "cpu": want.cpu_m}[kind]


def _show(kind: str, amount: int, task: TaskDemand) -> str:
    if kind == "gpu":
        models = task.resources.gpu_models
        named = f" of model {' or '.join(models)}" if models else ""
        return f"{amount} GPU{'s' if amount != 1 else ''}{named}"
    return f"{about_bytes(amount)} memory" if kind == "memory" else f"{format_cpu(amount)} CPU"


def _show_free(kind: str, amount: int) -> str:
    if kind == "gpu":
        return str(amount)
    return about_bytes(amount) if kind == "memory" else format_cpu(amount)


def _describe(node: Node) -> str:
    capacity = node.capacity
    counts = {model: sum(d.model == model for d in capacity.devices) for model in capacity.gpu_models()}
    gpus = ", ".join(f"{count} {model}" for model, count in counts.items()) or "no GPU"
    return f"{format_cpu(capacity.cpu_m)} CPU, {about_bytes(capacity.memory_bytes)} memory, {gpus}"
