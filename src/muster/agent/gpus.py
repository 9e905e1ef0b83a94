"""Finds the GPUs of this machine: pretended ones if asked to, else the first source that works."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import Callable, List, Mapping, Optional, Protocol, Tuple

from muster.agent.gpu_tools import NvidiaSmi, RocmSmi
from muster.agent.gpu_values import Gpu, GpuLoad
from muster.agent.nvml import Nvml, NvmlError

FAKE = "MUSTER_FAKE_GPUS"

_GIB = 1024**3
_UNITS = {"": 1, "Ki": 1024, "Mi": 1024**2, "Gi": _GIB, "Ti": 1024**4}
_USUAL_GIB = {"A100": 80, "H100": 80, "H200": 141, "V100": 32, "T4": 16, "RTX3090": 24, "RTX4090": 24, "P100": 16}
_FAKE = re.compile(r"(\d+)x([A-Za-z0-9._-]+?)(?::(\d+)(Ki|Mi|Gi|Ti)?)?\Z")


class GpuSource(Protocol):
    """Where knowledge of GPUs comes from. Both calls may block; neither is made on the loop's thread."""

    source: str

    def gpus(self) -> List[Gpu]: ...

    def loads(self) -> List[GpuLoad]: ...


class FakeGpus:
    source = "fake"

    def __init__(self, text: str) -> None:
        self._gpus = parse_fake(text)

    def gpus(self) -> List[Gpu]:
        return self._gpus

    def loads(self) -> List[GpuLoad]:
        return [GpuLoad(gpu.index, 0.0, 0, gpu.memory_bytes, None, None) for gpu in self._gpus]


class NoGpus:
    source = "none"

    def gpus(self) -> List[Gpu]:
        return []

    def loads(self) -> List[GpuLoad]:
        return []


@dataclass(frozen=True)
class FoundGpus:
    source: GpuSource
    gpus: Tuple[Gpu, ...]


NOTHING_FOUND = FoundGpus(NoGpus(), ())


def find_gpus(environ: Mapping[str, str]) -> FoundGpus:
    """May block for as long as the makers' tools do."""
    if FAKE in environ:
        pretended = FakeGpus(environ[FAKE])
        return FoundGpus(pretended, tuple(pretended.gpus()))
    makers: Tuple[Callable[[], GpuSource], ...] = (Nvml, NvidiaSmi, RocmSmi)
    for maker in makers:
        found = _ask(maker)
        if found is not None:
            return found
    return NOTHING_FOUND


def parse_fake(text: str) -> List[Gpu]:
    """Read "8xA100", "4xRTX3090,2xT4", "8xA100:80Gi"; an empty text is a machine without GPUs."""
    found: List[Gpu] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _FAKE.match(part)
        if match is None:
            raise ValueError("{} is written like 8xA100 or 4xT4:16Gi, not {!r}".format(FAKE, part))
        count, model, amount, unit = match.groups()
        memory = int(amount) * _UNITS[unit or ""] if amount else _USUAL_GIB.get(model, 16) * _GIB
        for _ in range(int(count)):
            found.append(Gpu(len(found), "GPU-fake-{}".format(len(found)), model, memory))
    return found


def _ask(maker: Callable[[], GpuSource]) -> Optional[FoundGpus]:
    try:
        source = maker()
        gpus = tuple(source.gpus())
    except (NvmlError, AttributeError, OSError, ValueError, subprocess.SubprocessError):
        return None  # not installed, no driver, or too old: the next source may know more
    return FoundGpus(source, gpus) if gpus else None
