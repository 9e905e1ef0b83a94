"""The system calls that Python has no function for. Each raises OSError."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Optional, Tuple

NEW_MOUNTS = 0x00020000
NEW_IPC = 0x08000000
NEW_USERS = 0x10000000
NEW_PROCESSES = 0x20000000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8
REMOUNT, BIND, RECURSIVE, PRIVATE, SLAVE = 32, 4096, 16384, 1 << 18, 1 << 19

_DETACH = 2
_NO_NEW_PRIVILEGES = 38
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_SETATTR = 442  # the same on all architectures
_PIVOT_ROOT = {"x86_64": 155, "ppc64le": 203, "s390x": 217}
_PIVOT_ROOT_ELSEWHERE = 41  # the generic table: aarch64, riscv64, loongarch64

_BPF = {"x86_64": 321, "ppc64le": 361, "s390x": 351}
_BPF_ELSEWHERE = 280
_LOAD_PROGRAM, _ATTACH_PROGRAM = 5, 8
_CONTROLS_DEVICES, _AT_DEVICES = 15, 6
_ALONG_WITH_OTHERS = 2  # programs of the groups around this one stay in force
_BPF_ARGUMENT_BYTES = 120

_WAITID = {"x86_64": 247, "ppc64le": 272, "s390x": 281}
_WAITID_ELSEWHERE = 95
_ONE_PROCESS, _SIGNAL_INFO_BYTES = 1, 128

_LIBC = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = [
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    ]


class _Rusage(ctypes.Structure):
    _fields_ = [
        ("user_s", ctypes.c_long),
        ("user_us", ctypes.c_long),
        ("system_s", ctypes.c_long),
        ("system_us", ctypes.c_long),
        ("largest_kib", ctypes.c_long),
        ("others", ctypes.c_long * 13),
    ]


def unshare(namespaces: int) -> None:
    _check(_LIBC.unshare(namespaces), "unshare")


def enter_namespace(namespace: int, kind: int) -> None:
    """`namespace` is a descriptor of its file in /proc."""
    _check(_LIBC.setns(namespace, kind), "setns")


def mount(source: str, target: str, kind: Optional[str], flags: int, options: str = "") -> None:
    words = [os.fsencode(source), os.fsencode(target), None if kind is None else kind.encode()]
    _check(_LIBC.mount(*words, ctypes.c_ulong(flags), options.encode() or None), target)


def set_flags(target: str, flags: int) -> None:
    """Set mount flags on a mount and on all that are mounted below it. Before Linux 5.12, only on the mount itself."""
    wanted = _MountAttributes(set=flags)  # these four flags have the same bits here as in mount(2)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    path = os.fsencode(target)
    if _LIBC.syscall(_MOUNT_SETATTR, _AT_FDCWD, path, _AT_RECURSIVE, ctypes.byref(wanted), size) == 0:
        return
    # Flags that the mount has already may be locked, so they are given again.
    present = os.statvfs(target).f_flag & (READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC)
    mount("none", target, None, REMOUNT | BIND | flags | present)


def pivot_root(new: str, old: str) -> None:
    number = _PIVOT_ROOT.get(os.uname().machine, _PIVOT_ROOT_ELSEWHERE)
    _check(_LIBC.syscall(number, os.fsencode(new), os.fsencode(old)), new)


def detach(target: str) -> None:
    _check(_LIBC.umount2(os.fsencode(target), _DETACH), target)


def give_up_new_privileges() -> None:
    """From now on no program can gain rights by being executed."""
    _check(_LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")


def rusage_of_ended(pid: int) -> Optional[Tuple[float, int]]:
    """The CPU seconds of a child that has ended, and the memory in bytes of its largest process; None if the kernel
    does not say. The child stays a zombie."""
    number, used = _WAITID.get(os.uname().machine, _WAITID_ELSEWHERE), _Rusage()
    info = ctypes.create_string_buffer(_SIGNAL_INFO_BYTES)
    options = os.WEXITED | os.WNOWAIT | os.WNOHANG
    if _LIBC.syscall(number, _ONE_PROCESS, pid, info, options, ctypes.byref(used)) != 0:
        return None
    cpu_s = used.user_s + used.system_s + (used.user_us + used.system_us) / 1e6
    return cpu_s, used.largest_kib * 1024


def load_device_program(code: bytes) -> int:
    """A descriptor of the program, which the kernel asks whether a device may be opened."""
    instructions, license_name = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"MIT")
    addresses = ctypes.addressof(instructions), ctypes.addressof(license_name)
    program = _bpf(_LOAD_PROGRAM, struct.pack("=IIQQ", _CONTROLS_DEVICES, len(code) // 8, *addresses))
    os.set_inheritable(program, False)
    return program


def attach_device_program(program: int, group: int) -> None:
    """The program holds for the control group until the group is removed."""
    _bpf(_ATTACH_PROGRAM, struct.pack("=IIII", group, program, _AT_DEVICES, _ALONG_WITH_OTHERS))


def _bpf(command: int, arguments: bytes) -> int:
    number = _BPF.get(os.uname().machine, _BPF_ELSEWHERE)
    given = ctypes.create_string_buffer(arguments, _BPF_ARGUMENT_BYTES)
    result = int(_LIBC.syscall(number, command, given, _BPF_ARGUMENT_BYTES))
    _check(min(result, 0), "bpf")
    return result


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
