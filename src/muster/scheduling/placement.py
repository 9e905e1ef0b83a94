"""Putting a whole gang on nodes, or none of it."""

from collections.abc import Iterable, Sequence

from muster.domain.resources import Resources
from muster.scheduling.demand import Slot, TaskDemand
from muster.scheduling.ledger import NodeLedger


def place(tasks: Sequence[TaskDemand], ledgers: Sequence[NodeLedger]) -> tuple[list[Slot], TaskDemand | None]:
    """Take a place for every task. Answers the slots, and the first task that found none: then the caller undoes.

    Tasks that accept few GPU models first, then big ones, and each to a node that the gang already uses, else to the
    fullest that still holds it: this keeps a gang on few nodes and large holes open.
    """
    slots: list[Slot] = []
    used: set[str] = set()
    for task in sorted(tasks, key=_difficulty, reverse=True):
        ledger = _choose(task.resources, ledgers, used)
        if ledger is None:
            return slots, task
        devices = ledger.take(task.resources)
        used.add(ledger.node.name)
        slots.append(Slot(task.role, task.index, ledger.node.name, task.resources, devices))
    return slots, None


def undo(slots: Iterable[Slot], ledgers: dict[str, NodeLedger]) -> None:
    for slot in slots:
        ledgers[slot.node].give_back(slot.resources, slot.devices)


def shortage(task: TaskDemand, ledgers: Iterable[NodeLedger]) -> str:
    """The kind of resource that kept the task out: asked before the rest of the gang is undone. GPUs only when no node
    has enough of them, for where they are it is something else that lacks."""
    kinds = {ledger.shortage(task.resources) for ledger in ledgers}
    return next((kind for kind in ("cpu", "memory") if kind in kinds), "gpu")


def _difficulty(task: TaskDemand) -> tuple[bool, bool, int, int, int]:
    """A task that takes any model must not take the only cards that another one accepts."""
    want = task.resources
    return want.gpus > 0, bool(want.gpu_models), want.gpus, want.cpu_m, want.memory_bytes


def _choose(want: Resources, ledgers: Sequence[NodeLedger], used: set[str]) -> NodeLedger | None:
    fitting = [ledger for ledger in ledgers if ledger.shortage(want) is None]
    if not fitting:
        return None
    return min(fitting, key=lambda ledger: _fullness(ledger, want, used))


def _fullness(ledger: NodeLedger, want: Resources, used: set[str]) -> tuple[bool, int, int, int, str]:
    spare_gpus = sum(len(free) for free in ledger.devices.values())
    preferred = next(
        (rank for rank, model in enumerate(want.gpu_models) if ledger.free_gpus((model,)) >= want.gpus),
        len(want.gpu_models),
    )
    return ledger.node.name not in used, preferred, spare_gpus, ledger.cpu_m, ledger.node.name
