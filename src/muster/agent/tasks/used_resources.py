"""What one task has used so far: the sums and peaks of all samples, and what the kernel counted by its end.

Values only: who samples, and where the figures are kept, is in `accounting`. A GPU's figures are those of the whole
device, also if the task shares it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

_LONGEST_STEP_S = 60.0
"""What happened between two samples that are further apart is not known: the agent was away."""


@dataclass(frozen=True)
class UsedGpu:
    index: int
    sampled_s: float = 0.0
    load_s: float = 0.0  # per cent times seconds
    load_peak: Optional[float] = None
    memory_s: float = 0.0  # bytes times seconds
    memory_peak_bytes: Optional[int] = None
    energy_j: Optional[float] = None
    counter_j: Optional[float] = None  # the device's own energy counter at the last sample


@dataclass(frozen=True)
class Used:
    cpu_s: Optional[float] = None
    cpu_peak: Optional[float] = None  # cores
    memory_peak_bytes: Optional[int] = None
    gpus: Tuple[UsedGpu, ...] = ()
    sampled_at: Optional[float] = None
    is_final: bool = False


@dataclass(frozen=True)
class Counted:
    """What the kernel counted for a task that has ended. None: it did not."""

    cpu_s: Optional[float] = None
    memory_peak_bytes: Optional[int] = None


def with_sample(used: Used, at: float, task: Mapping[str, Any], gpus: Sequence[Mapping[str, Any]]) -> Used:
    """`task` is empty if the processes of the task are not among those that were sampled."""
    passed = None if used.sampled_at is None else at - used.sampled_at
    step_s = passed if passed is not None and 0.0 < passed <= _LONGEST_STEP_S else None
    cpu_s = _largest(used.cpu_s, task.get("cpu_s"))
    peak = used.cpu_peak
    if step_s is not None and cpu_s is not None and used.cpu_s is not None:
        peak = _largest(peak, (cpu_s - used.cpu_s) / step_s)
    return replace(
        used,
        cpu_s=cpu_s,
        cpu_peak=peak,
        memory_peak_bytes=_largest(used.memory_peak_bytes, task.get("rss_bytes")),
        gpus=tuple(_with_gpu_sample(gpu, _of_index(gpus, gpu.index), step_s) for gpu in used.gpus),
        sampled_at=at,
    )


def with_counted(used: Used, counted: Counted) -> Used:
    return replace(
        used,
        cpu_s=_largest(used.cpu_s, counted.cpu_s),
        memory_peak_bytes=_largest(used.memory_peak_bytes, counted.memory_peak_bytes),
    )


def with_end(used: Used, counted: Counted) -> Used:
    return replace(with_counted(used, counted), is_final=True)


def of_devices(devices: Sequence[int]) -> Used:
    return Used(gpus=tuple(UsedGpu(index) for index in devices))


def to_json(used: Used) -> Dict[str, Any]:
    return asdict(used)


def from_json(value: Mapping[str, Any]) -> Optional[Used]:
    """Returns None if this is not what `to_json` wrote: another version of the agent may have, or the task itself."""
    try:
        gpus = [dict(gpu) for gpu in value["gpus"]]
        plain = {key: known for key, known in value.items() if key != "gpus"}
        if not all(_is_number(known) for part in (plain, *gpus) for known in part.values()):
            return None
        return Used(**plain, gpus=tuple(UsedGpu(**gpu) for gpu in gpus))
    except (KeyError, TypeError, ValueError):
        return None


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and 0 <= value < math.inf)


def _with_gpu_sample(gpu: UsedGpu, sample: Mapping[str, Any], step_s: Optional[float]) -> UsedGpu:
    load, memory, counter = sample.get("load"), sample.get("memory_used_bytes"), sample.get("energy_j")
    known = replace(
        gpu,
        load_peak=_largest(gpu.load_peak, load),
        memory_peak_bytes=_largest(gpu.memory_peak_bytes, memory),
        energy_j=_energy(gpu, sample, step_s),
        counter_j=gpu.counter_j if counter is None else counter,
    )
    if load is None:
        return known
    # The first sample says how busy the device was just before it.
    seconds = 1.0 if step_s is None else step_s
    return replace(
        known,
        sampled_s=gpu.sampled_s + seconds,
        load_s=gpu.load_s + load * seconds,
        memory_s=gpu.memory_s + (memory or 0) * seconds,
    )


def _energy(gpu: UsedGpu, sample: Mapping[str, Any], step_s: Optional[float]) -> Optional[float]:
    """The device's counter knows what was used; otherwise its power at each sample is all there is. A counter that
    went back was reset."""
    counter, power = sample.get("energy_j"), sample.get("power_w")
    if counter is not None:
        if gpu.counter_j is None:
            return gpu.energy_j
        return (gpu.energy_j or 0.0) + max(0.0, float(counter) - gpu.counter_j)
    if power is None or step_s is None:
        return gpu.energy_j
    return (gpu.energy_j or 0.0) + float(power) * step_s


def _of_index(gpus: Sequence[Mapping[str, Any]], index: int) -> Mapping[str, Any]:
    return next((gpu for gpu in gpus if gpu.get("index") == index), {})


def _largest(before: Any, now: Any) -> Any:
    known = [value for value in (before, now) if value is not None]
    return max(known) if known else None
