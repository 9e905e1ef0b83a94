"""Reads what an agent says a task has used. The figures were kept in the task's folder, so nothing about them is
trusted but that they are numbers of a believable size."""

import math
from collections.abc import Mapping
from typing import Any

from muster.domain.used_resources import UsedGpu, UsedResources

_MOST_GPUS = 64
_MOST = 1e18


def used_resources(value: Any) -> UsedResources | None:
    if not isinstance(value, Mapping):
        return None
    gpus = value.get("gpus")
    found = gpus[:_MOST_GPUS] if isinstance(gpus, list) else []
    return UsedResources(
        cpu_s=_number(value.get("cpu_s"), 3),
        peak_cores=_number(value.get("cpu_peak"), 3),
        peak_memory_bytes=_whole(value.get("memory_peak_bytes")),
        gpus=tuple(_gpu(gpu) for gpu in found if isinstance(gpu, Mapping)),
        is_sampled=not value.get("is_final"),
    )


def _gpu(value: Mapping[str, Any]) -> UsedGpu:
    seconds = _number(value.get("sampled_s"), 3) or 0.0
    load_s, memory_s = _number(value.get("load_s"), 3), _number(value.get("memory_s"), 3)
    return UsedGpu(
        index=_whole(value.get("index")) or 0,
        sampled_s=seconds,
        mean_percent=round(load_s / seconds, 1) if seconds and load_s is not None else None,
        peak_percent=_number(value.get("load_peak"), 1),
        mean_memory_bytes=int(memory_s / seconds) if seconds and memory_s is not None else None,
        peak_memory_bytes=_whole(value.get("memory_peak_bytes")),
        energy_j=_number(value.get("energy_j"), 1),
    )


def _number(value: Any, digits: int) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(float(value), digits) if 0 <= value < _MOST else None


def _whole(value: Any) -> int | None:
    number = _number(value, 0)
    return None if number is None else int(number)
