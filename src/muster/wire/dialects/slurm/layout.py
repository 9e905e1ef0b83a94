"""Slurm's arithmetic: how many nodes and tasks a script asks for, and what each node has to give.

Without `--nodes` all tasks are put on one node, which is one of the layouts that Slurm itself may choose.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from muster.wire.dialects.slurm import values
from muster.wire.dialects.slurm.directives import Directives, Given
from muster.wire.dialects.slurm.values import Gres, NotUnderstood

_MAX_NODES = 4096
_EXCLUSIVE = (
    ("cpus-per-task", "cpus-per-gpu"),
    ("gpus-per-task", "ntasks-per-gpu"),
    ("ntasks-per-node", "ntasks-per-gpu"),
    ("mem", "mem-per-cpu"),
    ("mem", "mem-per-gpu"),
    ("mem-per-cpu", "mem-per-gpu"),
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Layout:
    nodes: int
    tasks: int
    cpus_per_task: int
    cpus_per_node: int
    gpus_per_node: int
    gpus_per_task: int
    """0 if all tasks on a node see all of its GPUs."""
    gpu_type: str
    memory_bytes: int

    @property
    def tasks_of_nodes(self) -> list[int]:
        """The tasks on each node: as many on the first ones as on the others, or one more."""
        each, more = divmod(self.tasks, self.nodes)
        return [each + (place < more) for place in range(self.nodes)]

    @property
    def tasks_per_node(self) -> int:
        return self.tasks_of_nodes[0]


class LayoutReader:
    """Collects what cannot be done, each with the option that asks for it."""

    def __init__(self, directives: Directives) -> None:
        self._directives = directives
        self.refusals: list[tuple[str, str, str, tuple[str, ...]]] = []
        """The option, what is wrong with it, a hint, and the path in the spec that settles it."""
        self.warnings: list[tuple[str, str]] = []

    def read(self) -> Layout:
        gpus = self._gpus()
        self._refuse_devices()
        self._refuse_together()
        nodes = self._nodes(gpus)
        tasks = self._tasks(gpus, nodes)
        per_node = self._of("ntasks-per-node", values.positive, 0)
        if "ntasks" in self._directives.given and per_node and "nodes" not in self._directives.given:
            nodes = max(nodes, -(-tasks // per_node))
        if tasks < nodes and "nodes" in self._directives.given:
            self.warnings.append(("nodes", f"is {nodes} for {tasks} tasks; the job gets {tasks}"))
            nodes = max(1, tasks)
        if nodes > _MAX_NODES:
            name = "nodes" if "nodes" in self._directives.given else "ntasks"
            self._refuse(name, f"asks for {nodes} nodes", f"at most {_MAX_NODES}")
            nodes = _MAX_NODES
        on_node = -(-tasks // nodes)
        node_gpus = self._gpus_of_node(gpus, nodes, tasks, on_node)
        self._refuse_without_gpus(node_gpus)
        cpus_per_task = self._of("cpus-per-task", values.positive, 0)
        if not cpus_per_task:
            cpus_per_task = -(-self._of("cpus-per-gpu", values.positive, 0) * node_gpus // on_node) or 1
        cpus = on_node * cpus_per_task
        return Layout(
            nodes,
            tasks,
            cpus_per_task,
            cpus,
            node_gpus,
            self._own_gpus(gpus, node_gpus),
            self._type(gpus),
            self._memory(cpus, node_gpus),
        )

    def _nodes(self, gpus: Mapping[str, list[Gres]]) -> int:
        """`--gpus` for the whole job and a number for each node say how many nodes there are."""
        least, most = self._of("nodes", values.node_count, (1, 1))
        total, on_each = self._number(gpus.get("gpus")), self._on_each(gpus)
        if total and on_each:
            nodes = max(1, total // on_each)
            is_within = least <= nodes <= most or "nodes" not in self._directives.given
            if total % on_each or not is_within:
                self._refuse_mismatch("gpus", f"{total} GPUs with {on_each} on each node", f"{least} nodes")
            return nodes if is_within else least
        if most > least:
            self.warnings.append(("nodes", f"may be up to {most}; the job gets {least}"))
        return least

    def _tasks(self, gpus: Mapping[str, list[Gres]], nodes: int) -> int:
        """GPUs for the job and for each task, or tasks for each GPU, say how many tasks there are."""
        per_node = self._of("ntasks-per-node", values.positive, 0)
        per_gpu = self._of("ntasks-per-gpu", values.positive, 0)
        stated = self._of("ntasks", values.positive, 0)
        if not stated and "nodes" in self._directives.given:
            stated = nodes * per_node
        total = self._number(gpus.get("gpus")) or nodes * self._on_each(gpus)
        per_task = self._number(gpus.get("gpus-per-task"))
        counted = total // per_task if per_task and "gpus" in gpus else total * per_gpu
        if per_task and "gpus" in gpus and (total % per_task or stated not in (0, counted)):
            self._refuse_mismatch("gpus", f"{total} GPUs with {per_task} for each task", f"{stated or counted} tasks")
        elif total and per_gpu and stated not in (0, counted):
            self._refuse_mismatch("ntasks-per-gpu", f"{per_gpu} tasks for each of {total} GPUs", f"{stated} tasks")
        return stated or counted or nodes * per_node or nodes

    def _refuse_together(self) -> None:
        """What sbatch refuses, because each of two options says the same in another way."""
        for first, second in _EXCLUSIVE:
            if first in self._directives.given and second in self._directives.given:
                self._refuse(second, f"cannot be used with --{first}, as in Slurm", "remove one of them")

    def _refuse_without_gpus(self, node_gpus: int) -> None:
        for name in ("cpus-per-gpu", "mem-per-gpu"):
            if name in self._directives.given and not node_gpus:
                self._refuse(name, "is for each GPU, and the job asks for none", "write --gpus, too")

    def _refuse_mismatch(self, name: str, first: str, second: str) -> None:
        self._refuse(name, f"{first} do not make {second}, and Slurm refuses it", "correct one of the numbers")

    def _gpus(self) -> dict[str, list[Gres]]:
        """What each option asks for, without those that ask for none."""
        asked = {name: self._gres(name, values.gpus) for name in ("gpus", "gpus-per-node", "gpus-per-task")}
        asked["gres"] = [one for one in self._gres("gres", values.gres) if one.name == "gpu"]
        return {name: found for name, found in asked.items() if found}

    def _on_each(self, gpus: Mapping[str, list[Gres]]) -> int:
        """The GPUs that the script wants on each node."""
        return next((self._number(gpus[name]) for name in ("gpus-per-node", "gres") if name in gpus), 0)

    def _gpus_of_node(self, gpus: Mapping[str, list[Gres]], nodes: int, tasks: int, on_node: int) -> int:
        per_task = self._number(gpus.get("gpus-per-task"))
        if on_each := self._on_each(gpus):
            if on_each < per_task * on_node:
                wanted = f"{on_node} tasks with {per_task} GPUs each"
                self._refuse_mismatch("gpus-per-task", wanted, f"{on_each} GPUs on a node")
            return on_each
        if per_task:
            return per_task * on_node
        total = self._number(gpus.get("gpus"))
        if not total and (per_gpu := self._of("ntasks-per-gpu", values.positive, 0)):
            if tasks % per_gpu:
                self._refuse_mismatch("ntasks-per-gpu", f"{per_gpu} tasks for each GPU", f"{tasks} tasks")
            total = max(1, tasks // per_gpu)
        if total % nodes:
            self._refuse("gpus", f"{total} GPUs cannot be shared equally by {nodes} nodes", "write --gpus-per-node")
        return total // nodes

    def _own_gpus(self, gpus: Mapping[str, list[Gres]], node_gpus: int) -> int:
        """The GPUs that only one task sees. Slurm also shows a task its own GPU alone if it shares it with others."""
        per_gpu = self._of("ntasks-per-gpu", values.positive, 0)
        if per_gpu > 1 and node_gpus > 1:
            self.warnings.append(("ntasks-per-gpu", "a task of a step sees all GPUs of its node, and not only its own"))
        return self._number(gpus.get("gpus-per-task")) or int(per_gpu == 1)

    def _number(self, asked: list[Gres] | None) -> int:
        return sum(one.count for one in asked or ())

    def _type(self, gpus: Mapping[str, list[Gres]]) -> str:
        for name, asked in gpus.items():
            types = {one.type for one in asked if one.type}
            if len(types) > 1 or len(asked) > 1:
                self._refuse(name, "asks for several types of GPUs on one node", "choose one type")
            if types:
                return types.pop()
        return ""

    def _memory(self, cpus: int, gpus: int) -> int:
        """`--mem=0` is all memory of the node, which no task is kept from using here if it asks for none."""
        for name, times in (("mem", 1), ("mem-per-cpu", cpus), ("mem-per-gpu", gpus)):
            if name in self._directives.given:
                found = self._of(name, values.memory_bytes, 0) * times
                if not found and times and not any(told[0] == name for told in self.refusals):
                    self.warnings.append((name, "is 0: no memory is reserved, and all of it may be used"))
                return found
        return 0

    def _refuse_devices(self) -> None:
        """Generic resources other than GPUs have names of their own in Muster, which only a person can tell."""
        for one in self._gres("gres", values.gres):
            if one.name != "gpu":
                hint = f"--set 'resources.devices={{RESOURCE: {one.count}}}' names the devices; {{}} does without"
                self._refuse("gres", f"Muster does not know the devices {one.name!r}", hint, ("resources", "devices"))

    def _gres(self, name: str, read: Callable[[str], list[Gres]]) -> list[Gres]:
        nothing: list[Gres] = []
        return self._of(name, read, nothing)

    def _of(self, name: str, read: Callable[[str], T], absent: T) -> T:
        given: Given | None = self._directives.given.get(name)
        if given is None:
            return absent
        try:
            return read(given.value)
        except NotUnderstood as error:
            if not any(told[0] == name for told in self.refusals):
                self._refuse(name, f"is {given.value!r}", str(error))
            return absent

    def _refuse(self, name: str, message: str, hint: str = "", settled_by: tuple[Any, ...] = ()) -> None:
        self.refusals.append((name, message, hint, settled_by))
