"""Amounts of hardware, and where a task was put."""

from dataclasses import dataclass, field

WHOLE_GPU = 1000


@dataclass(frozen=True, slots=True)
class Resources:
    """What one task asks for. `gpu_models` are acceptable models in order of preference; empty means any.

    `gpus` is how many devices the task sees. `gpu_share` is how much of each it needs, in thousandths: below 1000 the
    device is shared with others, and then `gpus` is 1.
    """

    cpu_m: int = 0
    memory_bytes: int = 0
    gpus: int = 0
    gpu_models: tuple[str, ...] = ()
    gpu_share: int = WHOLE_GPU

    @property
    def gpu_m(self) -> int:
        """GPUs in thousandths, as CPU is."""
        return self.gpus * self.gpu_share

    @property
    def shares_gpu(self) -> bool:
        return self.gpus > 0 and self.gpu_share < WHOLE_GPU


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator of a node, by the index its driver gives it."""

    index: int
    model: str
    uuid: str = ""
    memory_bytes: int = 0
    out_of_service: str = ""
    """Why nobody should be given it, if so."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a node has."""

    cpu_m: int
    memory_bytes: int
    devices: tuple[Device, ...] = ()

    def gpu_models(self) -> tuple[str, ...]:
        return tuple(sorted({device.model for device in self.devices}))


@dataclass(frozen=True, slots=True)
class Placement:
    """Task → node, device indices and reserved ports. Where an engine such as Slurm or Kubernetes places tasks
    itself, the node is empty until the engine reports it, and devices and ports stay the engine's affair."""

    node: str
    address: str = ""
    devices: tuple[int, ...] = ()
    ports: tuple[int, ...] = field(default=())
