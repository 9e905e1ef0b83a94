"""Fake GPUs, for trying specs and queues on machines that have none, and for tests that break GPUs.

With `MUSTER_FAKE_GPUS=4xA100` nothing ever happens to the GPUs. `MUSTER_FAKE_GPUS=@FILE` reads them from a file, again
at every sample: its first line names the GPUs, and each line after it says what happened to one of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Callable, Dict, List, Sequence, Set

from muster.agent.gpus.values import Gpu, GpuLoad

FAKE = "MUSTER_FAKE_GPUS"

_GIB = 1024**3
_UNITS = {"": 1, "Ki": 1024, "Mi": 1024**2, "Gi": _GIB, "Ti": 1024**4}
_USUAL_GIB = {"A100": 80, "H100": 80, "H200": 141, "V100": 32, "T4": 16, "RTX3090": 24, "RTX4090": 24, "P100": 16}
_GPUS = re.compile(r"(\d+)x([A-Za-z0-9._-]+?)(?::(\d+)(Ki|Mi|Gi|Ti)?)?\Z")
_AMOUNT = re.compile(r"(\d+)(Ki|Mi|Gi|Ti)?\Z")


class FakeGpus:
    source = "fake"

    def __init__(self, text: str) -> None:
        self._gpus = parse_fake(text)

    def gpus(self) -> List[Gpu]:
        return self._gpus

    def loads(self) -> List[GpuLoad]:
        return [idle(gpu) for gpu in self._gpus]


class FakeGpuFile:
    source = "fake"

    def __init__(self, path: str) -> None:
        self._path = path

    def gpus(self) -> List[Gpu]:
        found = self._read()
        return [gpu for gpu in found.gpus if gpu.index not in found.gone]

    def loads(self) -> List[GpuLoad]:
        found = self._read()
        return [load for index, load in sorted(found.loads.items()) if index not in found.gone]

    def _read(self) -> FakeState:
        with open(self._path, encoding="utf-8") as file:
            return parse_fake_file(file.read())


@dataclass(frozen=True)
class FakeState:
    gpus: List[Gpu]
    loads: Dict[int, GpuLoad]
    gone: Set[int] = field(default_factory=set)


def parse_fake(text: str) -> List[Gpu]:
    """Read "8xA100", "4xRTX3090,2xT4", "8xA100:80Gi"; an empty text is a machine without GPUs."""
    found: List[Gpu] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _GPUS.match(part)
        if match is None:
            raise ValueError("{} is written like 8xA100 or 4xT4:16Gi, not {!r}".format(FAKE, part))
        count, model, amount, unit = match.groups()
        memory = int(amount) * _UNITS[unit or ""] if amount else _USUAL_GIB.get(model, 16) * _GIB
        for _ in range(int(count)):
            found.append(Gpu(len(found), "GPU-fake-{}".format(len(found)), model, memory))
    return found


def parse_fake_file(text: str) -> FakeState:
    """Read the GPUs, then lines such as "ecc 0 3", "gone 2", "process 1 4711", "load 0 87 12Gi 65 210"."""
    first, *rest = text.splitlines() or [""]
    gpus = parse_fake(first.strip())
    state = FakeState(gpus, {gpu.index: idle(gpu) for gpu in gpus})
    for line in rest:
        words = line.split("#", 1)[0].split()
        if words:
            _happen(state, words)
    return state


def idle(gpu: Gpu) -> GpuLoad:
    return GpuLoad(gpu.index, 0.0, 0, gpu.memory_bytes, None, None, 0)


def _happen(state: FakeState, words: Sequence[str]) -> None:
    what, index, *values = words
    gpu = int(index)
    if what == "gone":
        state.gone.add(gpu)
    elif what in _LINES:
        state.loads[gpu] = _LINES[what](state.loads[gpu], values)
    else:
        raise ValueError("a line of {} is gone, ecc, process or load, not {!r}".format(FAKE, what))


def _loaded(load: GpuLoad, values: Sequence[str]) -> GpuLoad:
    percent, memory, temperature, power = values
    return replace(
        load,
        load=float(percent),
        memory_used_bytes=_amount(memory),
        temperature_c=float(temperature),
        power_w=float(power),
    )


def _amount(text: str) -> int:
    match = _AMOUNT.match(text)
    if match is None:
        raise ValueError("an amount of memory is written like 12Gi, not {!r}".format(text))
    return int(match.group(1)) * _UNITS[match.group(2) or ""]


_LINES: Dict[str, Callable[[GpuLoad, Sequence[str]], GpuLoad]] = {
    "ecc": lambda load, values: replace(load, ecc_errors=int(values[0])),
    "process": lambda load, values: replace(load, pids=(*load.pids, int(values[0]))),
    "load": _loaded,
}
