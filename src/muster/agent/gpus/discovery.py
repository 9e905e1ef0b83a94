"""Finds the GPUs of this machine: fake ones if it is asked to, else those of the first source that works."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Callable, List, Mapping, Optional, Protocol, Tuple

from muster.agent.gpus.fake import FAKE, FakeGpuFile, FakeGpus
from muster.agent.gpus.nvml import Nvml, NvmlError
from muster.agent.gpus.values import Gpu, GpuLoad
from muster.agent.gpus.vendor_tools import NvidiaSmi, RocmSmi


class GpuSource(Protocol):
    """A driver or tool that knows GPUs. Both calls may block; neither is made on the loop's thread."""

    source: str

    def gpus(self) -> List[Gpu]: ...

    def loads(self) -> List[GpuLoad]:
        """The load of each GPU that the driver lists now, by the index that `gpus` gave it."""
        ...


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
    """This may block for as long as the vendors' tools do."""
    if FAKE in environ:
        fake = _fake(environ[FAKE])
        return FoundGpus(fake, tuple(fake.gpus()))
    sources: Tuple[Callable[[], GpuSource], ...] = (Nvml, NvidiaSmi, RocmSmi)
    for make in sources:
        found = _ask(make)
        if found is not None:
            return found
    return NOTHING_FOUND


def _fake(text: str) -> GpuSource:
    return FakeGpuFile(text[1:]) if text.startswith("@") else FakeGpus(text)


def _ask(make: Callable[[], GpuSource]) -> Optional[FoundGpus]:
    try:
        source = make()
        gpus = tuple(source.gpus())
    except (NvmlError, AttributeError, OSError, ValueError, subprocess.SubprocessError):
        return None  # not installed, no driver, or too old: the next source may know more
    return FoundGpus(source, gpus) if gpus else None
