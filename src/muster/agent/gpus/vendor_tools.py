"""GPUs through the command-line tools of their vendors, for machines where the library cannot be used.

Each tool has a pair: its arguments, and the parser of its output. Running it is separate from both.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence

from muster.agent.gpus.models import model_name
from muster.agent.gpus.values import Gpu, GpuLoad
from muster.agent.system.short_commands import call

_TIMEOUT_S = 8.0
_MIB = 1024 * 1024

NVIDIA_FACTS = ("nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits")
NVIDIA_LOADS = (
    "nvidia-smi",
    "--query-gpu=index,uuid,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw,"
    "ecc.errors.uncorrected.volatile.total",
    "--format=csv,noheader,nounits",
)
NVIDIA_PROCESSES = ("nvidia-smi", "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader,nounits")
ROCM_FACTS = ("rocm-smi", "--showproductname", "--showuniqueid", "--showmeminfo", "vram", "--json")
ROCM_LOADS = ("rocm-smi", "--showuse", "--showmeminfo", "vram", "--showtemp", "--showpower", "--json")


class NvidiaSmi:
    source = "nvidia-smi"

    def __init__(self) -> None:
        self._indices: Dict[str, int] = {}

    def gpus(self) -> List[Gpu]:
        found = parse_nvidia_facts(_run(NVIDIA_FACTS))
        self._indices = {gpu.uuid: gpu.index for gpu in found}
        return found

    def loads(self) -> List[GpuLoad]:
        """Each load has the index that its GPU had at first: the tool counts anew when a GPU is gone."""
        processes = parse_nvidia_processes(_run(NVIDIA_PROCESSES))
        return [
            replace(load, index=self._indices.get(uuid, load.index), pids=tuple(processes.get(uuid, ())))
            for uuid, load in parse_nvidia_loads(_run(NVIDIA_LOADS)).items()
        ]


class RocmSmi:
    source = "rocm-smi"

    def gpus(self) -> List[Gpu]:
        return parse_rocm_facts(_run(ROCM_FACTS))

    def loads(self) -> List[GpuLoad]:
        return parse_rocm_loads(_run(ROCM_LOADS))


def parse_nvidia_facts(text: str) -> List[Gpu]:
    found = []
    for fields in _rows(text, 4):
        memory = _number(fields[3])
        found.append(Gpu(int(fields[0]), fields[1], model_name(fields[2]), int((memory or 0) * _MIB)))
    return found


def parse_nvidia_loads(text: str) -> Dict[str, GpuLoad]:
    """The result is keyed by the UUID of the GPU."""
    found = {}
    for fields in _rows(text, 8):
        load, used, total, temperature, power, errors = (_number(field) for field in fields[2:])
        ecc_errors = None if errors is None else int(errors)
        found[fields[1]] = GpuLoad(int(fields[0]), load, _bytes(used), _bytes(total), temperature, power, ecc_errors)
    return found


def parse_nvidia_processes(text: str) -> Dict[str, List[int]]:
    """The result is keyed by the UUID of the GPU."""
    found: Dict[str, List[int]] = {}
    for line in text.splitlines():
        uuid, _, pid = (part.strip() for part in line.partition(","))
        if pid.isdigit():
            found.setdefault(uuid, []).append(int(pid))
    return found


def parse_rocm_facts(text: str) -> List[Gpu]:
    return [
        Gpu(
            index,
            str(raw.get("Unique ID", "rocm-{}".format(index))),
            model_name(str(raw.get("Card Series") or raw.get("Card series") or "AMD GPU")),
            int(_number(raw.get("VRAM Total Memory (B)")) or 0),
        )
        for index, raw in _rocm_gpus(text).items()
    ]


def parse_rocm_loads(text: str) -> List[GpuLoad]:
    found = []
    for index, raw in _rocm_gpus(text).items():
        used = _number(raw.get("VRAM Total Used Memory (B)"))
        total = _number(raw.get("VRAM Total Memory (B)"))
        found.append(
            GpuLoad(
                index,
                _number(raw.get("GPU use (%)")),
                None if used is None else int(used),
                None if total is None else int(total),
                _first(raw, "Temperature"),
                _first(raw, "Power (W)"),
            )
        )
    return found


def _run(arguments: Sequence[str]) -> str:
    called = call(arguments, _TIMEOUT_S)
    if called.late:  # not the same as a tool that lists nothing
        raise subprocess.TimeoutExpired(arguments, _TIMEOUT_S)
    return called.output if called.code == 0 else ""


def _rows(text: str, width: int) -> List[List[str]]:
    rows = ([field.strip() for field in line.split(",")] for line in text.splitlines())
    return [row for row in rows if len(row) == width and row[0].isdigit()]


def _rocm_gpus(text: str) -> Dict[int, Mapping[str, Any]]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    found = {}
    for name, raw in value.items() if isinstance(value, dict) else ():
        number = re.match(r"card(\d+)\Z", name)
        if number is not None and isinstance(raw, dict):
            found[int(number.group(1))] = raw
    return dict(sorted(found.items()))


def _first(raw: Mapping[str, Any], words: str) -> Optional[float]:
    return next((_number(value) for name, value in raw.items() if words in name), None)


def _number(value: Any) -> Optional[float]:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None  # "[N/A]", "[Not Supported]"


def _bytes(mib: Optional[float]) -> Optional[int]:
    return None if mib is None else int(mib * _MIB)
