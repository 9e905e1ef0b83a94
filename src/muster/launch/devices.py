"""Which accelerators a task sees: exactly the allotted ones, none for a CPU task."""

from collections.abc import Sequence

from muster.domain.resources import Placement


def visible_devices(placement: Placement, gpus: int) -> dict[str, str]:
    """Empty when the engine placed the task: a variable of ours would hide the cards that the engine gave it."""
    if gpus and not placement.devices:
        return {}
    allotted = _comma(placement.devices)
    return {
        # Without this CUDA numbers cards by speed, and ours are the driver's numbers.
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": allotted,
        "NVIDIA_VISIBLE_DEVICES": allotted or "void",
        "ROCR_VISIBLE_DEVICES": allotted,
        # HIP counts among what ROCR_VISIBLE_DEVICES left over: the same numbers again would select nothing.
        "HIP_VISIBLE_DEVICES": _comma(range(len(placement.devices))),
    }


def _comma(numbers: Sequence[int]) -> str:
    return ",".join(str(number) for number in numbers)
