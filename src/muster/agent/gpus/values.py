"""What is said about a GPU: the fixed facts, and the figures of one moment."""

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
    ecc_errors: Optional[int] = None  # that could not be corrected, since the card was last reset
    pids: Tuple[int, ...] = ()  # of the processes that compute on it
