"""What is free on one node. Allocating and freeing are exact inverses, so that a trial can be undone."""

from bisect import insort
from collections.abc import Iterable

from muster.domain.nodes import Node
from muster.domain.resources import WHOLE_GPU, Amounts, ExtendedDevice, Resources


class NodeCapacity:
    """Whole devices by model, the used part of shared ones, CPU, memory, the number of tasks, and devices other than
    GPUs."""

    __slots__ = (
        "cpu_m",
        "free_devices",
        "free_extended",
        "indexed",
        "indexed_cpu",
        "is_usable",
        "jobs",
        "memory_bytes",
        "models",
        "name",
        "node",
        "shared",
        "tasks",
    )

    def __init__(self, node: Node) -> None:
        self.node = node
        self.name = node.name
        self.is_usable = node.is_usable
        self.cpu_m = node.capacity.cpu_m
        self.memory_bytes = node.capacity.memory_bytes
        self.tasks = node.capacity.tasks
        self.models = {device.index: device.model for device in node.capacity.devices}
        self.free_devices: dict[str, list[int]] = {}
        """Devices that nobody uses, by model, in ascending order."""
        for device in node.capacity.devices:
            insort(self.free_devices.setdefault(device.model, []), device.index)
        self.free_extended: dict[str, dict[int, ExtendedDevice]] = {}
        """Devices other than GPUs that nobody uses, by resource and index. A resource of the node stays in it."""
        for other in node.capacity.extended:
            self.free_extended.setdefault(other.resource, {})[other.index] = other
        self.shared: dict[int, int] = {}
        """The used thousandths of each shared device."""
        self.indexed: dict[str, int] = {}
        self.indexed_cpu = 0
        """The buckets of the node index in which this node is."""
        self.jobs: dict[str, None] = {}
        """The jobs on this node, in the order in which they came."""

    def free_gpus(self, models: tuple[str, ...] = ()) -> int:
        """The most GPUs that one task could get; the devices of one task are of one model."""
        return max((len(self.free_devices[model]) for model in self.acceptable(models)), default=0)

    def all_gpus(self, models: tuple[str, ...] = ()) -> int:
        if not models:
            return sum(map(len, self.free_devices.values()))
        return sum(len(self.free_devices[model]) for model in self.acceptable(models))

    def shortage(self, want: Resources) -> str | None:
        """The first kind of resource that is missing, or None when the task fits. Devices other than GPUs are missing
        by the name of their resource."""
        if want.gpus and self._device_model(want) is None:
            return "gpu"
        if self.cpu_m < want.cpu_m:
            return "cpu"
        if self.memory_bytes < want.memory_bytes:
            return "memory"
        if want.extended and (lacking := self.lacks_extended(want.extended)) is not None:
            return lacking
        return "task" if self.tasks < 1 else None

    def allocate(self, want: Resources) -> tuple[int, ...]:
        """Allocate and return the GPUs. The caller has checked that there is no shortage, and allocates the devices
        other than GPUs with `allocate_extended`, if the task wants any."""
        self.tasks -= 1
        self.cpu_m -= want.cpu_m
        self.memory_bytes -= want.memory_bytes
        if not want.gpus:
            return ()
        model = self._device_model(want)
        assert model is not None
        if want.gpu_share < WHOLE_GPU:
            return (self._allocate_part(model, want.gpu_share),)
        free = self.free_devices[model]
        taken, self.free_devices[model] = free[: want.gpus], free[want.gpus :]
        return tuple(taken)

    def allocate_extended(self, want: Amounts) -> tuple[ExtendedDevice, ...]:
        """Allocate and return devices other than GPUs, those with the lowest indices."""
        taken = []
        for resource, count in want:
            free = self.free_extended[resource]
            taken += [free.pop(index) for index in sorted(free)[:count]]
        return tuple(taken)

    def lacks_extended(self, want: Amounts) -> str | None:
        """The first resource of which too few are free."""
        return next((name for name, count in want if len(self.free_extended.get(name, ())) < count), None)

    def has_extended(self, want: Amounts) -> bool:
        """Whether the node has so many, used or not."""
        have = dict(self.node.capacity.extended_amounts())
        return all(have.get(name, 0) >= count for name, count in want)

    def are_free(self, devices: Iterable[ExtendedDevice]) -> bool:
        found = [self._known(device) for device in devices]
        return all(device is not None and device.index in self.free_extended[device.resource] for device in found)

    def allocate_exactly(
        self, want: Resources, devices: tuple[int, ...], extended: tuple[ExtendedDevice, ...] = ()
    ) -> None:
        """Allocate these very devices: what a task already has, or what a guarantee names."""
        for other in extended:
            if (known := self._known(other)) is not None:
                self.free_extended[known.resource].pop(known.index, None)
        self.tasks -= 1
        self.cpu_m -= want.cpu_m
        self.memory_bytes -= want.memory_bytes
        if devices and want.gpu_share == WHOLE_GPU and (model := self.models.get(devices[0])) is not None:
            free, count = self.free_devices[model], len(devices)
            if tuple(free[:count]) == devices:  # as `allocate` would have chosen them
                self.free_devices[model] = free[count:]
                return
        for index in devices:
            model = self.models.get(index)
            if model is None:
                continue  # a device that has left the node since
            if index in self.free_devices[model]:
                self.free_devices[model].remove(index)
            if want.gpu_share < WHOLE_GPU:
                self.shared[index] = self.shared.get(index, 0) + want.gpu_share

    def free(self, want: Resources, devices: tuple[int, ...], extended: tuple[ExtendedDevice, ...] = ()) -> None:
        for other in extended:
            if (known := self._known(other)) is not None:
                self.free_extended[known.resource][known.index] = known
        self.tasks += 1
        self.cpu_m += want.cpu_m
        self.memory_bytes += want.memory_bytes
        for index in devices:
            model = self.models.get(index)
            if model is None:
                continue
            if want.gpu_share < WHOLE_GPU:
                left = self.shared.pop(index) - want.gpu_share
                if left > 0:
                    self.shared[index] = left
                    continue
            if index not in self.free_devices[model]:
                insort(self.free_devices[model], index)

    def _known(self, held: ExtendedDevice) -> ExtendedDevice | None:
        """The device of the node that a task holds, or None if it has left the node since. The cluster's file may have
        changed the order of devices, but not what their files are."""
        for device in self.node.capacity.extended:
            is_same = device.paths == held.paths if held.paths else device.index == held.index
            if is_same and device.resource == held.resource:
                return device
        return None

    def acceptable(self, models: tuple[str, ...]) -> list[str]:
        if not models:
            return list(self.free_devices)
        wanted = [model.lower() for model in models]
        return sorted((m for m in self.free_devices if m.lower() in wanted), key=lambda m: wanted.index(m.lower()))

    def has_room_on(self, devices: tuple[int, ...], share: int) -> bool:
        """Whether so much of each device is free."""
        if not devices:
            return True
        if share < WHOLE_GPU:
            return all(self.room_on(device) >= share for device in devices)
        free = self.free_devices.get(self.models.get(devices[0], ""), ())
        if tuple(free[: len(devices)]) == devices:
            return True
        return all(self.room_on(device) == WHOLE_GPU for device in devices)

    def room_on(self, device: int) -> int:
        """The thousandths of the device that are free."""
        if device in self.shared:
            return WHOLE_GPU - self.shared[device]
        return WHOLE_GPU if device in self.free_devices.get(self.models.get(device, ""), ()) else 0

    def _device_model(self, want: Resources) -> str | None:
        """The most preferred model that has enough; without a preference, the one that is left with least."""
        free = self.free_devices
        if want.gpu_share < WHOLE_GPU:
            enough = [m for m in self.acceptable(want.gpu_models) if free[m] or self._shareable(m, want.gpu_share)]
        elif len(free) == 1 and not want.gpu_models:
            for model in free:
                return model if len(free[model]) >= want.gpus else None
            return None
        else:
            enough = [model for model in self.acceptable(want.gpu_models) if len(free[model]) >= want.gpus]
        if not enough:
            return None
        return enough[0] if want.gpu_models else min(enough, key=lambda model: (len(free[model]), model))

    def _shareable(self, model: str, share: int) -> list[int]:
        return [i for i, used in self.shared.items() if used + share <= WHOLE_GPU and self.models.get(i) == model]

    def _allocate_part(self, model: str, share: int) -> int:
        """Allocate the part on the fullest shared device that has room for it, else on a new one."""
        fitting = self._shareable(model, share)
        index = max(fitting, key=lambda i: (self.shared[i], -i)) if fitting else self.free_devices[model].pop(0)
        self.shared[index] = self.shared.get(index, 0) + share
        return index
