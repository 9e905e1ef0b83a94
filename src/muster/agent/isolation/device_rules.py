"""Closes devices to all processes of a control group, whatever the rights of the device files are.

Version 1 has a controller for it. Version 2 asks a program for every device that is opened; it is put together here out
of a few instructions of the kernel's own machine language, so that no compiler is needed.
"""

from __future__ import annotations

import os
import struct
from typing import Sequence

from muster.agent.isolation import system_calls
from muster.agent.isolation.gpu_files import DeviceNumber
from muster.agent.system.descriptors import write_into

# The program finds the type and access, the major and the minor number of the device at these offsets from register 1.
_MAJOR_AT, _MINOR_AT = 4, 8
_LOAD_WORD, _JUMP_UNLESS_EQUAL, _SET, _RETURN = 0x61, 0x55, 0xB7, 0x95
_RESULT, _CONTEXT, _MAJOR, _MINOR = 0, 1, 2, 3


def close(version: int, group: str, devices: Sequence[DeviceNumber]) -> None:
    """Raises OSError if this is not possible here."""
    if version == 1:
        for device in devices:
            write_into(os.path.join(group, "devices.deny"), "c {}:{} rwm".format(*device).encode("ascii"))
        return
    program = system_calls.load_device_program(_program(devices))
    try:
        folder = os.open(group, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            system_calls.attach_device_program(program, folder)
        finally:
            os.close(folder)
    finally:
        os.close(program)


def _program(devices: Sequence[DeviceNumber]) -> bytes:
    """Block devices are not distinguished: none has the number of a GPU that matters to a task."""
    code = [
        _instruction(_LOAD_WORD, _MAJOR, _CONTEXT, _MAJOR_AT),
        _instruction(_LOAD_WORD, _MINOR, _CONTEXT, _MINOR_AT),
    ]
    for device in devices:
        code.append(_instruction(_JUMP_UNLESS_EQUAL, _MAJOR, offset=3, value=device.major))
        code.append(_instruction(_JUMP_UNLESS_EQUAL, _MINOR, offset=2, value=device.minor))
        code += _answer(0)
    return b"".join([*code, *_answer(1)])


def _answer(value: int) -> Sequence[bytes]:
    return _instruction(_SET, _RESULT, value=value), _instruction(_RETURN)


def _instruction(operation: int, register: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("=BBhi", operation, source << 4 | register, offset, value)
