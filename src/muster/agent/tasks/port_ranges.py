"""Which ports tasks may get."""

from __future__ import annotations

from typing import List, Tuple

DEFAULT_RANGE = (20000, 32000)


def candidates(wished: Tuple[int, int], ephemeral: Tuple[int, int]) -> List[int]:
    """The wished range without what the kernel may give to any outgoing connection at any moment."""
    low, high = ephemeral
    return [port for port in range(wished[0], wished[1] + 1) if not low <= port <= high]


def ephemeral_range() -> Tuple[int, int]:
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            low, high = file.read().split()
    except (OSError, ValueError):
        return 32768, 60999
    return int(low), int(high)


def parse_range(text: str) -> Tuple[int, int]:
    low, _, high = text.partition("-")
    if not (low.isdigit() and high.isdigit() and 1024 <= int(low) <= int(high) <= 65535):
        raise ValueError("a port range is written like 20000-32000, not {!r}".format(text))
    return int(low), int(high)
