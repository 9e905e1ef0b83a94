"""NVIDIA's management library through ctypes: which GPUs there are and how busy they are.

It uses only the calls that every driver of the last ten years has. A call that fails leaves its value unknown.
"""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Tuple

from muster.agent.gpus.models import model_name
from muster.agent.gpus.values import Gpu, GpuLoad

_LIBRARY = "libnvidia-ml.so.1"
_ENERGY = "nvmlDeviceGetTotalEnergyConsumption"
_TEMPERATURE_OF_CHIP = 0
_UNCORRECTED = 1
_SINCE_RESET = 0
_INSUFFICIENT_SIZE = 7
_GONE = (6, 15)  # not found; lost: it fell off the bus, or was turned off
_LISTED_AT_FIRST = 32
_LISTED_AT_MOST = 4096


class NvmlError(Exception):
    """The library is missing or the driver does not answer."""


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class _OldProcess(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong)]


# The newest comes first. The plain name is version 1, whose entries are shorter.
_LISTINGS: Tuple[Tuple[str, Any], ...] = (
    ("nvmlDeviceGetComputeRunningProcesses_v3", _Process),
    ("nvmlDeviceGetComputeRunningProcesses_v2", _Process),
    ("nvmlDeviceGetComputeRunningProcesses", _OldProcess),
)


class Nvml:
    source = "nvml"

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY)
        except OSError as error:
            raise NvmlError(str(error)) from error
        if self._library.nvmlInit_v2() != 0:
            raise NvmlError("nvmlInit failed: is the driver loaded?")
        self._devices = [self._device(index) for index in range(self._count())]
        found = next(known for known in _LISTINGS if hasattr(self._library, known[0]))
        self._listing: str = found[0]
        self._entry: Any = found[1]

    def gpus(self) -> List[Gpu]:
        return [
            Gpu(index, self._text("nvmlDeviceGetUUID", device), self._model(device), self._memory(device).total)
            for index, device in enumerate(self._devices)
        ]

    def loads(self) -> List[GpuLoad]:
        found = (self._load(index, device) for index, device in enumerate(self._devices))
        return [load for load in found if load is not None]

    def _load(self, index: int, device: Any) -> Optional[GpuLoad]:
        memory = _Memory()
        if self._code("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory)) in _GONE:
            return None
        utilization = _Utilization()
        known = self._call("nvmlDeviceGetUtilizationRates", device, ctypes.byref(utilization))
        power_mw = self._number("nvmlDeviceGetPowerUsage", device)
        return GpuLoad(
            index=index,
            load=float(utilization.gpu) if known else None,
            memory_used_bytes=memory.used,
            memory_total_bytes=memory.total,
            temperature_c=self._number("nvmlDeviceGetTemperature", device, ctypes.c_int(_TEMPERATURE_OF_CHIP)),
            power_w=None if power_mw is None else power_mw / 1000.0,
            energy_j=self._energy_j(device),
            ecc_errors=self._ecc_errors(device),
            pids=self._pids(device),
        )

    def _energy_j(self, device: Any) -> Optional[float]:
        """Cards since Volta count it, and drivers since 2018 say it."""
        if not hasattr(self._library, _ENERGY):
            return None
        millijoules = ctypes.c_ulonglong()
        return millijoules.value / 1000.0 if self._call(_ENERGY, device, ctypes.byref(millijoules)) else None

    def _ecc_errors(self, device: Any) -> Optional[int]:
        errors = ctypes.c_ulonglong()
        which = (ctypes.c_int(_UNCORRECTED), ctypes.c_int(_SINCE_RESET))
        return errors.value if self._call("nvmlDeviceGetTotalEccErrors", device, *which, ctypes.byref(errors)) else None

    def _pids(self, device: Any) -> Tuple[int, ...]:
        size = _LISTED_AT_FIRST
        while size <= _LISTED_AT_MOST:
            count, entries = ctypes.c_uint(size), (self._entry * size)()
            code = self._code(self._listing, device, ctypes.byref(count), entries)
            if code == 0:
                return tuple(int(entry.pid) for entry in entries[: count.value])
            if code != _INSUFFICIENT_SIZE:
                break
            size *= 4
        return ()

    def _count(self) -> int:
        count = ctypes.c_uint()
        return count.value if self._call("nvmlDeviceGetCount_v2", ctypes.byref(count)) else 0

    def _device(self, index: int) -> Any:
        handle = ctypes.c_void_p()
        if not self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle)):
            raise NvmlError("GPU {} does not answer".format(index))
        return handle

    def _model(self, device: Any) -> str:
        return model_name(self._text("nvmlDeviceGetName", device))

    def _memory(self, device: Any) -> _Memory:
        memory = _Memory()
        self._call("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
        return memory

    def _text(self, name: str, device: Any) -> str:
        buffer = ctypes.create_string_buffer(96)
        self._call(name, device, buffer, ctypes.c_uint(96))
        return buffer.value.decode("utf-8", "replace")

    def _number(self, name: str, device: Any, *more: Any) -> Optional[int]:
        value = ctypes.c_uint()
        return value.value if self._call(name, device, *more, ctypes.byref(value)) else None

    def _call(self, name: str, *arguments: Any) -> bool:
        return self._code(name, *arguments) == 0

    def _code(self, name: str, *arguments: Any) -> int:
        return int(getattr(self._library, name)(*arguments))
