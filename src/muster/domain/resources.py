"""Hardware resources: what tasks ask for, what nodes have, and the placement of a task."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

WHOLE_GPU = 1000
DEFAULT_CPU_M = 250
"""The CPU of a task that asks for none. It is small on purpose: four modest tasks fit on a core, so that a job with
parameter servers and without resources runs on a laptop."""


LEAST_CPU_M = 10
"""What every task counts on the server, however little it asks for: a node has room for 100 tasks per core."""


TASKS_PER_NODE = 1024
"""How many tasks run on a node at the same time, unless its cluster's file says otherwise."""


Amounts = tuple[tuple[str, int], ...]
"""Whole numbers by the names of extended resources, such as `xilinx.com/fpga`, in the order of the names."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What one task asks for. `gpu_models` lists acceptable models in order of preference; empty means any.

    `gpus` is the number of devices that the task sees. `gpu_share` is the part of each that it needs, in thousandths:
    below 1000 it shares the device with other tasks, and `gpus` is 1. `extended` are devices other than GPUs.
    """

    cpu_m: int = 0
    memory_bytes: int = 0
    gpus: int = 0
    gpu_models: tuple[str, ...] = ()
    gpu_share: int = WHOLE_GPU
    extended: Amounts = ()

    @property
    def gpu_m(self) -> int:
        """GPUs in thousandths, like CPU."""
        return self.gpus * self.gpu_share

    def at_least(self, cpu_m: int) -> "Resources":
        return self if self.cpu_m >= cpu_m else replace(self, cpu_m=cpu_m)

    def in_units_of(self, cpu_m: int) -> "Resources":
        """Round the CPU up to a multiple of this."""
        return self if self.cpu_m % cpu_m == 0 else replace(self, cpu_m=-(-self.cpu_m // cpu_m) * cpu_m)

    @property
    def shares_gpu(self) -> bool:
        return self.gpus > 0 and self.gpu_share < WHOLE_GPU


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator of a node, identified by the index that its driver uses."""

    index: int
    model: str
    uuid: str = ""
    memory_bytes: int = 0
    out_of_service: str = ""
    """Why the device is out of service; empty if it is in service."""


DeviceFiles = Mapping[str, tuple[tuple[str, ...], ...]]
"""The files of each device that a node has of an extended resource, by the name of the resource."""


@dataclass(frozen=True, slots=True)
class ExtendedDevice:
    """One device of a node that is not a GPU, such as an FPGA. Only whole ones are allocated."""

    resource: str
    """The name of the extended resource, such as `xilinx.com/fpga`."""
    index: int
    """Its place among the node's devices of that resource."""
    paths: tuple[str, ...] = ()
    """The device files that are the device. Unknown if an engine places tasks."""
    out_of_service: str = ""
    """Why the device is out of service; empty if it is in service."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """What is kept on a node for the machine itself, and given to no task."""

    cpu_m: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a node has."""

    cpu_m: int
    memory_bytes: int
    devices: tuple[Device, ...] = ()
    tasks: int = 1 << 30
    """The number of tasks that may run at the same time, however little they ask for."""
    extended: tuple[ExtendedDevice, ...] = ()

    def without(self, reserved: Reserved) -> "Capacity":
        """What is left for tasks."""
        cpu_m = max(self.cpu_m - reserved.cpu_m, 0)
        return replace(self, cpu_m=cpu_m, memory_bytes=max(self.memory_bytes - reserved.memory_bytes, 0))

    def gpu_models(self) -> tuple[str, ...]:
        return tuple(sorted({device.model for device in self.devices}))

    def extended_indices(self) -> set[tuple[str, int]]:
        return {(device.resource, device.index) for device in self.extended}

    def extended_amounts(self) -> Amounts:
        return tuple(sorted(Counter(device.resource for device in self.extended).items()))


@dataclass(frozen=True, slots=True)
class Placement:
    """The node, device indices and reserved ports of a task. If Slurm or Kubernetes places the task, the node is empty
    until it is reported, and devices and ports are not known here."""

    node: str
    address: str = ""
    devices: tuple[int, ...] = ()
    ports: tuple[int, ...] = field(default=())
    pool_devices: tuple[int, ...] = ()
    """If an engine places the task, the GPUs that it takes from the cluster's pooled capacity."""
    extended: tuple[ExtendedDevice, ...] = ()
    """Its devices other than GPUs. If an engine places the task, they are taken from the pooled capacity."""
    models: tuple[str, ...] = field(default=(), compare=False)
    """The models of its GPUs when it was placed, for the history. Not known if an engine places the task."""


def times(amounts: Amounts, count: int) -> Amounts:
    return tuple((name, amount * count) for name, amount in amounts)


def total(parts: Iterable[Amounts]) -> Amounts:
    found: Counter[str] = Counter()
    for part in parts:
        found.update(dict(part))
    return tuple(sorted(found.items()))
