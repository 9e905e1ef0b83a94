"""NVIDIA's management library through ctypes: what GPUs there are and how busy they are.

Only the calls that every driver of the last ten years has. A call that fails leaves its figure unknown.
"""

from __future__ import annotations

import ctypes
from typing import Any, List, Optional

from muster.agent.gpu_models import model_name
from muster.agent.gpu_values import Gpu, GpuLoad

_LIBRARY = "libnvidia-ml.so.1"
_TEMPERATURE_OF_CHIP = 0


class NvmlError(Exception):
    """The library is missing or the driver does not answer."""


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


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

    def gpus(self) -> List[Gpu]:
        return [
            Gpu(index, self._text("nvmlDeviceGetUUID", device), self._model(device), self._memory(device).total)
            for index, device in enumerate(self._devices)
        ]

    def loads(self) -> List[GpuLoad]:
        return [self._load(index, device) for index, device in enumerate(self._devices)]

    def _load(self, index: int, device: Any) -> GpuLoad:
        memory = self._memory(device)
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
        )

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
        return bool(getattr(self._library, name)(*arguments) == 0)
