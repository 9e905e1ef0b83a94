"""Amounts of hardware, and where a task was put."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Resources:
    """What one task asks for. `gpu_models` are acceptable models in order of preference; empty means any."""

    cpu_m: int = 0
    memory_bytes: int = 0
    gpus: int = 0
    gpu_models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator of a node, by the index its driver gives it."""

    index: int
    model: str
    uuid: str = ""
    memory_bytes: int = 0


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
