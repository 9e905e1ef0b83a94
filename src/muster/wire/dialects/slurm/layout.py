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
        least, most = self._of("nodes", values.node_count, (1, 1))
        per_node = self._of("ntasks-per-node", values.count, 0)
        per_gpu = self._of("ntasks-per-gpu", values.count, 0)
        gpus = self._gpus()
        self._refuse_devices()
        nodes = max(1, least)
        if most > nodes:
            self.warnings.append(("nodes", f"may be up to {most}; the job gets {nodes}"))
        tasks = self._of("ntasks", values.count, 0)
        if not tasks:
            tasks = nodes * per_node or per_gpu * self._total_gpus(gpus, nodes, 1) or nodes
        elif per_node and "nodes" not in self._directives.given:
            nodes = -(-tasks // per_node)
        if tasks < nodes and "nodes" in self._directives.given:
            self.warnings.append(("nodes", f"is {nodes} for {tasks} tasks; the job gets {tasks}"))
            nodes = max(1, tasks)
        if nodes > _MAX_NODES:
            name = "nodes" if "nodes" in self._directives.given else "ntasks"
            self._refuse(name, f"asks for {nodes} nodes", f"at most {_MAX_NODES}")
            nodes = _MAX_NODES
        per_task_gpus = self._number(gpus.get("gpus-per-task"))
        cpus_per_task = self._of("cpus-per-task", values.count, 0)
        on_node = -(-tasks // nodes)
        node_gpus = self._per_node(gpus, nodes, tasks, on_node)
        if not cpus_per_task:
            cpus_per_task = -(-self._of("cpus-per-gpu", values.count, 0) * node_gpus // on_node) or 1
        cpus = on_node * cpus_per_task
        return Layout(
            nodes,
            tasks,
            cpus_per_task,
            cpus,
            node_gpus,
            per_task_gpus,
            self._type(gpus),
            self._memory(cpus, node_gpus),
        )

    def _gpus(self) -> dict[str, list[Gres]]:
        """What each option asks for, without those that ask for none."""
        asked = {name: self._gres(name, values.gpus) for name in ("gpus", "gpus-per-node", "gpus-per-task")}
        asked["gres"] = [one for one in self._gres("gres", values.gres) if one.name == "gpu"]
        return {name: found for name, found in asked.items() if found}

    def _per_node(self, gpus: Mapping[str, list[Gres]], nodes: int, tasks: int, on_node: int) -> int:
        for name in ("gpus-per-node", "gres"):
            if name in gpus:
                return self._number(gpus[name])
        if "gpus-per-task" in gpus:
            return self._number(gpus["gpus-per-task"]) * on_node
        total = self._number(gpus.get("gpus"))
        if total % nodes:
            self._refuse("gpus", f"{total} GPUs cannot be shared equally by {nodes} nodes", "write --gpus-per-node")
        return total // nodes

    def _total_gpus(self, gpus: Mapping[str, list[Gres]], nodes: int, on_node: int) -> int:
        return self._number(gpus.get("gpus")) or nodes * self._per_node(gpus, nodes, nodes, on_node)

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
                if not found and not any(told[0] == name for told in self.refusals):
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
