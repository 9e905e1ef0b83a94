"""What tasks used while they ran, and the sums for attempts and jobs."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

_N = TypeVar("_N", int, float)


@dataclass(frozen=True, slots=True)
class UsedGpu:
    """How busy one GPU of a task was. The figures are those of the whole device, also if the task shares it."""

    index: int
    sampled_s: float = 0.0
    """The time that the samples cover."""
    mean_percent: float | None = None
    peak_percent: float | None = None
    mean_memory_bytes: int | None = None
    peak_memory_bytes: int | None = None
    energy_j: float | None = None


@dataclass(frozen=True, slots=True)
class UsedResources:
    """What one task used. None where nobody measured it."""

    cpu_s: float | None = None
    peak_cores: float | None = None
    peak_memory_bytes: int | None = None
    gpus: tuple[UsedGpu, ...] = ()
    is_sampled: bool = False
    """Whether CPU and memory are known from samples only, so that peaks between two samples are missing."""


@dataclass(frozen=True, slots=True)
class UsageSum:
    """What several tasks used together. Peaks are those of the task or GPU that had the highest."""

    tasks: int = 0
    """How many of them have figures."""
    cpu_s: float | None = None
    peak_cores: float | None = None
    peak_memory_bytes: int | None = None
    gpu_sampled_s: float = 0.0
    gpu_percent: float | None = None
    """The mean of all GPUs over the time that was sampled."""
    peak_gpu_percent: float | None = None
    peak_gpu_memory_bytes: int | None = None
    energy_j: float | None = None
    is_sampled: bool = False


NOTHING_USED = UsageSum()


def sum_of_task(used: UsedResources) -> UsageSum:
    seconds = sum(gpu.sampled_s for gpu in used.gpus)
    busy = sum(gpu.sampled_s * gpu.mean_percent for gpu in used.gpus if gpu.mean_percent is not None)
    return UsageSum(
        tasks=1,
        cpu_s=used.cpu_s,
        peak_cores=used.peak_cores,
        peak_memory_bytes=used.peak_memory_bytes,
        gpu_sampled_s=seconds,
        gpu_percent=busy / seconds if seconds else None,
        peak_gpu_percent=_largest(gpu.peak_percent for gpu in used.gpus),
        peak_gpu_memory_bytes=_largest(gpu.peak_memory_bytes for gpu in used.gpus),
        energy_j=_total(gpu.energy_j for gpu in used.gpus),
        is_sampled=used.is_sampled,
    )


def add(first: UsageSum, second: UsageSum) -> UsageSum:
    both = (first, second)
    seconds = first.gpu_sampled_s + second.gpu_sampled_s
    busy = sum(one.gpu_sampled_s * one.gpu_percent for one in both if one.gpu_percent is not None)
    return UsageSum(
        tasks=first.tasks + second.tasks,
        cpu_s=_total(one.cpu_s for one in both),
        peak_cores=_largest(one.peak_cores for one in both),
        peak_memory_bytes=_largest(one.peak_memory_bytes for one in both),
        gpu_sampled_s=seconds,
        gpu_percent=busy / seconds if seconds else None,
        peak_gpu_percent=_largest(one.peak_gpu_percent for one in both),
        peak_gpu_memory_bytes=_largest(one.peak_gpu_memory_bytes for one in both),
        energy_j=_total(one.energy_j for one in both),
        is_sampled=first.is_sampled or second.is_sampled,
    )


def sum_of(used: Iterable[UsedResources | None], start: UsageSum = NOTHING_USED) -> UsageSum:
    total = start
    for one in used:
        if one is not None:
            total = add(total, sum_of_task(one))
    return total


def with_sampled(
    before: UsedResources | None, cpu_percent: float | None, memory_bytes: int, passed_s: float
) -> UsedResources:
    """Adds a sample to what is known from samples alone. The CPU use holds for the time since the sample before."""
    known = before or UsedResources(is_sampled=True)
    cores = None if cpu_percent is None else cpu_percent / 100
    return replace(
        known,
        cpu_s=known.cpu_s if cores is None else (known.cpu_s or 0.0) + cores * passed_s,
        peak_cores=_largest((known.peak_cores, cores)),
        peak_memory_bytes=_largest((known.peak_memory_bytes, memory_bytes)),
    )


def _largest(values: Iterable[_N | None]) -> _N | None:
    return max((value for value in values if value is not None), default=None)


def _total(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
