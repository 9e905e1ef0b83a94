"""Decides which GPUs are out of service, and why, from what the agent reports about them.

A GPU comes back into service when the reason is gone. It counts the errors of its memory itself until it is reset.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import count
from typing import Any

from muster.domain.resources import Device

_NAMED = 3
VANISHED = "the driver does not list it any more: look for it in the machine, or restart the node"


def out_of_service(gpus: Sequence[Mapping[str, Any]], devices: Sequence[Device]) -> dict[int, str]:
    """The reasons by index. `gpus` are those of one sample, and `devices` those that the node is known to have."""
    sampled = {int(gpu["index"]): gpu for gpu in gpus}
    reasons = {device.index: _reason(sampled.get(device.index)) for device in devices}
    return {index: reason for index, reason in reasons.items() if reason}


def gpu_alerts(reasons: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(f"GPU {index} is out of service: {reason}" for index, reason in sorted(reasons.items()))


def known_devices(before: Sequence[Device], listed: Sequence[Device]) -> tuple[Device, ...]:
    """The devices of a node that has just connected and listed them. One that was out of service stays so until a
    sample clears it. As many as are missing are kept, out of service; one that was replaced is not kept."""
    reasons = {_identity(device): device.out_of_service for device in before}
    here = [replace(device, out_of_service=reasons.get(_identity(device), "")) for device in listed]
    names = {_identity(device) for device in listed}
    gone = [device for device in before if _identity(device) not in names][: max(0, len(before) - len(listed))]
    taken = {device.index for device in listed}
    for device in gone:
        index = device.index if device.index not in taken else _first_free(taken)
        taken.add(index)
        here.append(replace(device, index=index, out_of_service=VANISHED))
    return tuple(sorted(here, key=lambda device: device.index))


def _first_free(taken: Set[int]) -> int:
    """The first free index. Drivers number the GPUs again after a restart, so the index of a missing one may be in
    use."""
    return next(index for index in count() if index not in taken)


def _reason(gpu: Mapping[str, Any] | None) -> str:
    if gpu is None or gpu.get("missing"):
        return VANISHED
    if errors := gpu.get("ecc_errors"):
        plural = "s" if errors != 1 else ""
        return f"{errors} memory error{plural} that ECC could not correct: reset the GPU or replace it"
    if foreign := gpu.get("foreign_pids"):
        return _held_by(foreign)
    return ""


def _held_by(foreign: Sequence[Mapping[str, Any]]) -> str:
    named = ", ".join(f"{process['name']} (pid {process['pid']})" for process in foreign[:_NAMED])
    more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
    return f"in use by {named}{more}, which Muster did not start"


def _identity(device: Device) -> str:
    return device.uuid or f"{device.model} {device.index}"
