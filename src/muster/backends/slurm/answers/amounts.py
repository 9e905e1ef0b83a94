"""What a job or a node has of each resource, as Slurm counts it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Amounts:
    cpus: int = 0
    memory_bytes: int = 0
    gpus: Mapping[str, int] = field(default_factory=dict)
    """The number of each gres type; the type is empty for GPUs that have none, and for jobs that take any."""

    @property
    def gpu_count(self) -> int:
        return sum(self.gpus.values())

    def plain(self) -> dict[str, Any]:
        return {"cpus": self.cpus, "memory_bytes": self.memory_bytes, "gpus": dict(self.gpus)}


def read_amounts(told: Mapping[str, Any]) -> Amounts:
    gpus = {str(type_): int(count) for type_, count in (told.get("gpus") or {}).items()}
    return Amounts(int(told.get("cpus") or 0), int(told.get("memory_bytes") or 0), gpus)


def total(parts: Iterable[Amounts]) -> Amounts:
    cpus = memory_bytes = 0
    gpus: Counter[str] = Counter()
    for part in parts:
        cpus, memory_bytes = cpus + part.cpus, memory_bytes + part.memory_bytes
        gpus.update(part.gpus)
    return Amounts(cpus, memory_bytes, dict(gpus))
