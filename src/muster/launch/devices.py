"""The variables that limit a task to its allocated accelerators; a CPU task sees none."""

from collections.abc import Sequence

from muster.domain.resources import Placement


def visible_devices(placement: Placement, gpus: int) -> dict[str, str]:
    """Empty if Slurm or Kubernetes placed the task: a variable would hide the GPUs that they allocated to it."""
    if gpus and not placement.devices:
        return {}
    allotted = _comma(placement.devices)
    return {
        # Without this CUDA numbers GPUs by speed, but the placement uses the driver's numbers.
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": allotted,
        "NVIDIA_VISIBLE_DEVICES": allotted or "void",
        "ROCR_VISIBLE_DEVICES": allotted,
        # HIP counts within ROCR_VISIBLE_DEVICES, so setting the same numbers for both would select nothing.
        "HIP_VISIBLE_DEVICES": _comma(range(len(placement.devices))),
    }


def _comma(numbers: Sequence[int]) -> str:
    return ",".join(str(number) for number in numbers)
