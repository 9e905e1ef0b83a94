"""How a job or step of Slurm exited: `1:0`, `0:9`, wait statuses, and the objects of its JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.backends.slurm.answers.json_values import number, words

_OUT_OF_MEMORY = 125
"""slurmstepd reports status 253 for a step in which the kernel killed something for memory. As a wait status, that is
signal 125."""
_LARGEST_SIGNAL = 64
_NO_VALUE = 0xFFFF_FFF0
"""Numbers from here on stand for no value, or for infinity."""


@dataclass(frozen=True, slots=True)
class JobExit:
    code: int | None = None
    signal: int | None = None
    is_oom: bool = False


def read_exit(text: str) -> JobExit | None:
    """`CODE:SIGNAL`, as scontrol and sacct write it. None if it is not known."""
    code, colon, signal = text.strip().partition(":")
    if not colon or not code.isdigit() or not signal.isdigit():
        return None
    return _exit(int(code), int(signal))


def read_status(status: int) -> JobExit | None:
    """The status of wait(2), as squeue before 23.02 and older JSON give it."""
    if not 0 <= status < _NO_VALUE:
        return None
    return _exit(status >> 8 & 0xFF, status & 0x7F)


def read_json_exit(value: Any) -> JobExit | None:
    """A wait status, or an object with `status`, `return_code` and `signal`, whose parts differ between releases."""
    if not isinstance(value, Mapping) or ("return_code" not in value and "signal" not in value):
        status = number(value)
        return None if status is None else read_status(int(status))
    told = {word.upper() for word in words(value.get("status"))}
    if "PENDING" in told or "INVALID" in told:
        return None
    signal = value.get("signal")
    if isinstance(signal, Mapping):
        signal = signal.get("id", signal.get("signal_id"))
    return _exit(int(number(value.get("return_code")) or 0), int(number(signal) or 0))


def _exit(code: int, signal: int) -> JobExit:
    if signal == _OUT_OF_MEMORY:
        return JobExit(code or None, None, is_oom=True)
    if 0 < signal <= _LARGEST_SIGNAL:
        return JobExit(code or None, signal)
    return JobExit(code)
