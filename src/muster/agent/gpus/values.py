"""A GPU: its fixed facts, and its metrics at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple


@dataclass(frozen=True)
class Gpu:
    index: int
    uuid: str
    model: str
    memory_bytes: int


@dataclass(frozen=True)
class GpuLoad:
    index: int
    load: Optional[float]  # percent
    memory_used_bytes: Optional[int]
    memory_total_bytes: Optional[int]
    temperature_c: Optional[float]
    power_w: Optional[float]
    ecc_errors: Optional[int] = None  # uncorrected ones since the GPU was last reset
    energy_j: Optional[float] = None  # a counter that only grows until the driver is loaded anew
    pids: Tuple[int, ...] = ()  # the processes that compute on it
