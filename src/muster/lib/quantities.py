"""Parsing and formatting of quantities: CPU (`500m`), GPUs (`0.5`), bytes (`2Gi`) and durations (`2h30m`). Text that
cannot be parsed raises a ValueError whose message says what is accepted.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

_BYTES_UNITS = {
    "": 1,
    "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50,
    "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
}  # fmt: skip
_DURATION_UNITS = {unit: Decimal(size) for unit, size in (
    ("ms", "0.001"), ("s", "1"), ("m", "60"), ("h", "3600"), ("d", "86400"), ("w", "604800"),
)}  # fmt: skip
_LARGEST = 10**18
"""The largest amount that databases and counters can safely hold: an exabyte, or 10^15 cores."""
_MOST_GPUS = 1024
_LONGEST_S = 100 * 365 * 86400.0
"""A century. Timers overflow long before a float does."""
_LONGEST_TEXT = 2000
"""A longer text is no quantity. Some patterns take quadratic time."""
_NUMBER_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_PLAIN_NUMBER = re.compile(r"\d+(\.\d+)?")
_CLOCK = re.compile(r"(\d+):([0-5]\d):([0-5]\d)")

CPU_ACCEPTED = "a number of cores such as 2, 0.5 or 500m"
GPU_ACCEPTED = (
    "a whole number of GPUs, or a part of one such as 0.5 with at most three decimals, `exclusive` or `reuse`"
)
GPU_WORDS = {"exclusive": 1000, "reuse": 200}
"""Words for a share of a GPU, in thousandths: the whole GPU, or a fifth of it, shared with up to four others."""
BYTES_ACCEPTED = "a size such as 512Mi, 2Gi or 8GB"
DURATION_ACCEPTED = "a duration such as 90s, 90m, 2h, 1h30m, 02:30:00 or a number of seconds"


def parse_cpu(value: str | int | float) -> int:
    """Thousandths of a core."""
    return _amount(value, {"": 1000, "m": 1}, CPU_ACCEPTED)


def parse_gpu(value: object) -> int:
    """Thousandths of a GPU. Accepts whole GPUs, a part of a single one, or one of `GPU_WORDS`."""
    if isinstance(value, str) and value.strip() in GPU_WORDS:
        return GPU_WORDS[value.strip()]
    text = "" if isinstance(value, bool) else str(value).strip()
    match = _PLAIN_NUMBER.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise ValueError(f"expected {GPU_ACCEPTED}")
    millis = Decimal(match[0]) * 1000
    if millis > _MOST_GPUS * 1000:
        raise ValueError(f"expected {GPU_ACCEPTED}, at most {_MOST_GPUS}")
    if millis % (1000 if millis > 1000 else 1):
        raise ValueError(f"expected {GPU_ACCEPTED}")
    return int(millis)


def parse_devices(value: object) -> int:
    """A number of devices, of which a task gets whole ones."""
    match = None if isinstance(value, bool) else re.fullmatch(r"[0-9]{1,5}", str(value).strip())
    if match is None or not 1 <= int(match[0]) <= _MOST_GPUS:
        raise ValueError(f"expected a whole number of devices from 1 to {_MOST_GPUS}")
    return int(match[0])


def parse_bytes(value: str | int | float) -> int:
    return _amount(value, _BYTES_UNITS, BYTES_ACCEPTED)


def parse_duration(value: object) -> float:
    """Seconds. A bare number means seconds; `hh:mm:ss` is the notation of batch systems."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"expected {DURATION_ACCEPTED}")
    if isinstance(value, int | float):
        return _bounded_duration(value)
    text = value.strip()
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"expected {DURATION_ACCEPTED}")
    if clock := _CLOCK.fullmatch(text):
        return _bounded_duration(int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[3]))
    if _PLAIN_NUMBER.fullmatch(text):
        return _bounded_duration(float(text))
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"expected {DURATION_ACCEPTED}")
    return _bounded_duration(sum(Decimal(number) * _DURATION_UNITS[unit] for number, unit in parts))


def format_cpu(millis: int) -> str:
    return str(millis // 1000) if millis % 1000 == 0 else f"{millis}m"


def gpu_number(millis: int) -> int | float:
    """The number of GPUs as it is written in JSON: 2, or 0.5."""
    return millis // 1000 if millis % 1000 == 0 else millis / 1000


def format_bytes(count: int) -> str:
    """The shortest exact form in binary units: 2Gi rather than 2048Mi, and plain bytes if no unit divides the count."""
    for unit in ("Ti", "Gi", "Mi", "Ki"):
        if count and count % _BYTES_UNITS[unit] == 0:
            return f"{count // _BYTES_UNITS[unit]}{unit}"
    return str(count)


def about_bytes(count: float) -> str:
    """The rounded size in binary units with one decimal, for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def about_duration(seconds: float) -> str:
    """The duration in its two largest units, for people: `2h 3m`, `45s`, `0.4s`."""
    if seconds < 9.95:
        return f"{seconds:.1f}s".replace(".0s", "s")
    left = round(seconds)
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
        if len(parts) == 2 or (parts and not count):
            break
    return " ".join(parts)


def about_percent(value: float) -> str:
    """The rounded percentage, for people; what is not quite nothing is not shown as nothing."""
    return "<1 %" if 0 < value < 0.5 else f"{value:.0f} %"


def about_number(value: float) -> str:
    """The number with as many decimals as matter: 0.04, 0.25, 2.5, 31, 1200. What is not quite nothing is not shown as
    nothing."""
    if 0 < value < 0.005:
        return "<0.01"
    return f"{value:.0f}" if value >= 9.995 else f"{value:.2f}".rstrip("0").rstrip(".")


def format_duration(seconds: float) -> str:
    """The duration as `2h30m`, `45s` or `1m0.5s`. `parse_duration` returns exactly the same number."""
    exact = Decimal(repr(seconds))
    whole, rest = int(exact), exact % 1
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{unit}")
    if whole or rest or not parts:
        parts.append(f"{(whole + rest).normalize():f}s")
    return "".join(parts)


def _amount(value: str | int | float, units: Mapping[str, int], accepted: str) -> int:
    text = "" if isinstance(value, bool) else str(value).strip()
    match = _NUMBER_UNIT.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None or match[2] not in units:
        raise ValueError(f"expected {accepted}")
    amount = Decimal(match[1]) * units[match[2]]
    if amount > _LARGEST:
        raise ValueError(f"the amount is too large; expected {accepted}")
    return round(amount)


def _bounded_duration(seconds: int | float | Decimal) -> float:
    if not 0 <= seconds <= _LONGEST_S:
        raise ValueError(f"expected {DURATION_ACCEPTED}, at most a century")
    return float(seconds)
