"""Finds the GPUs of this machine: pretended ones if asked to, else the first source that works."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import Callable, List, Mapping, Optional, Protocol, Tuple

from muster.agent.gpus.fake import FAKE, FakeGpuFile, FakeGpus
from muster.agent.gpus.nvml import Nvml, NvmlError
from muster.agent.gpus.values import Gpu, GpuLoad
from muster.agent.gpus.vendor_tools import NvidiaSmi, RocmSmi


class GpuSource(Protocol):
    """Where knowledge of GPUs comes from. Both calls may block; neither is made on the loop's thread."""

    source: str

    def gpus(self) -> List[Gpu]: ...

    def loads(self) -> List[GpuLoad]:
        """Of the cards that the driver lists now, by the index that `gpus` gave them."""
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
    """May block for as long as the makers' tools do."""
    if FAKE in environ:
        pretended = _pretended(environ[FAKE])
        return FoundGpus(pretended, tuple(pretended.gpus()))
    makers: Tuple[Callable[[], GpuSource], ...] = (Nvml, NvidiaSmi, RocmSmi)
    for maker in makers:
        found = _ask(maker)
        if found is not None:
            return found
    return NOTHING_FOUND


def _pretended(text: str) -> GpuSource:
    return FakeGpuFile(text[1:]) if text.startswith("@") else FakeGpus(text)


def _ask(maker: Callable[[], GpuSource]) -> Optional[FoundGpus]:
    try:
        source = maker()
        gpus = tuple(source.gpus())
    except (NvmlError, AttributeError, OSError, ValueError, subprocess.SubprocessError):
        return None  # not installed, no driver, or too old: the next source may know more
    return FoundGpus(source, gpus) if gpus else None
