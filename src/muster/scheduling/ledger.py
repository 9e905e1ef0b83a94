"""What is free on one node. Taking and giving back are exact inverses, so a trial can be undone."""

from dataclasses import dataclass, field

from muster.domain.nodes import Node
from muster.domain.resources import Resources


@dataclass(slots=True)
class NodeLedger:
    node: Node
    cpu_m: int = 0
    memory_bytes: int = 0
    devices: dict[str, list[int]] = field(default_factory=dict)
    """Free device indices by model, ascending."""

    @classmethod
    def of(cls, node: Node) -> "NodeLedger":
        devices: dict[str, list[int]] = {}
        for device in node.capacity.devices:
            devices.setdefault(device.model, []).append(device.index)
        return cls(node, node.capacity.cpu_m, node.capacity.memory_bytes, {m: sorted(d) for m, d in devices.items()})

    def free_gpus(self, models: tuple[str, ...] = ()) -> int:
        """The most that one task could get: devices of one task are of one model."""
        return max((len(self.devices[model]) for model in self._acceptable(models)), default=0)

    def all_gpus(self, models: tuple[str, ...] = ()) -> int:
        return sum(len(self.devices[model]) for model in self._acceptable(models))

    def shortage(self, want: Resources) -> str | None:
        """The first kind of resource that is missing, or None when the task fits."""
        if want.gpus and self.free_gpus(want.gpu_models) < want.gpus:
            return "gpu"
        if self.cpu_m < want.cpu_m:
            return "cpu"
        if self.memory_bytes < want.memory_bytes:
            return "memory"
        return None

    def take(self, want: Resources) -> tuple[int, ...]:
        """Reserve; the caller has seen that there is no shortage. Answers the devices given."""
        self.cpu_m -= want.cpu_m
        self.memory_bytes -= want.memory_bytes
        if not want.gpus:
            return ()
        model = self._model_for(want)
        free = self.devices[model]
        taken, self.devices[model] = free[: want.gpus], free[want.gpus :]
        return tuple(taken)

    def take_exactly(self, want: Resources, devices: tuple[int, ...]) -> None:
        """Reserve what a running task already has, after a restart."""
        self.cpu_m -= want.cpu_m
        self.memory_bytes -= want.memory_bytes
        for model, free in self.devices.items():
            self.devices[model] = [index for index in free if index not in devices]

    def give_back(self, want: Resources, devices: tuple[int, ...]) -> None:
        self.cpu_m += want.cpu_m
        self.memory_bytes += want.memory_bytes
        if not devices:
            return
        models = {device.index: device.model for device in self.node.capacity.devices}
        for index in devices:
            if index in models:  # a device that has left the node since is not given back
                self.devices[models[index]] = sorted({*self.devices.get(models[index], ()), index})

    def _acceptable(self, models: tuple[str, ...]) -> list[str]:
        if not models:
            return list(self.devices)
        wanted = [model.lower() for model in models]
        return sorted((m for m in self.devices if m.lower() in wanted), key=lambda m: wanted.index(m.lower()))

    def _model_for(self, want: Resources) -> str:
        """The most preferred model that has enough; with no preference the one that is left with least."""
        enough = [model for model in self._acceptable(want.gpu_models) if len(self.devices[model]) >= want.gpus]
        return enough[0] if want.gpu_models else min(enough, key=lambda model: (len(self.devices[model]), model))
