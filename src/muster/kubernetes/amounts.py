"""Amounts of resources, as pods request them and nodes offer them.

All amounts are thousandths, so that `500m` of a core and whole devices are integers alike. A quantity that cannot be
read counts as nothing: the API server refuses it anyway.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Any

Amounts = Mapping[str, int]
PODS = "pods"
"""Nodes offer a number of pods as a resource; every pod takes one."""
_QUANTITY = re.compile(r"([+-]?\d*\.?\d+\.?)([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?")
_SUFFIXES: Mapping[str, Decimal] = {
    "": Decimal(1),
    **{unit: Decimal(10) ** (-9 + 3 * power) for power, unit in enumerate("num")},
    **{unit: Decimal(10) ** (3 * power) for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(2) ** (10 * power) for power, unit in enumerate("KMGTPE", 1)},
}
_POD_LEVEL = ("cpu", "memory")
_BYTES, _UNITS = ("memory", "ephemeral-storage"), ("", "Ki", "Mi", "Gi", "Ti")


@lru_cache(maxsize=4096)
def thousandths(quantity: str | int | float) -> int:
    match = _QUANTITY.fullmatch(str(quantity).strip())
    if match is None:
        return 0
    suffix = match[2] or ""
    factor = _SUFFIXES[suffix] if suffix in _SUFFIXES else Decimal(f"1{suffix}")
    return max(0, int((Decimal(match[1]) * factor * 1000).to_integral_value(ROUND_CEILING)))


def whole(quantity: str | int | float) -> int:
    """Bytes, or devices."""
    return thousandths(quantity) // 1000


def quantity(amount: int) -> str:
    """The shortest way to write it exactly."""
    return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"


def for_people(name: str, amount: int) -> str:
    """Bytes as people write them, rounded; everything else exactly."""
    if name not in _BYTES:
        return quantity(amount)
    size, power = amount / 1000, 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size, power = size / 1024, power + 1
    return f"{size:.1f}".removesuffix(".0") + _UNITS[power]


def read_amounts(given: object) -> dict[str, int]:
    if not isinstance(given, Mapping):
        return {}
    return {str(name): thousandths(value) for name, value in given.items() if isinstance(value, str | int | float)}


def pod_requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """What a node needs to have for the pod, by the rule of the scheduler: containers run together, init containers one
    after another, those that are restarted stay, and a limit stands for a request that is missing."""
    together: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in _mappings(spec.get("initContainers")):
        needed = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            together = total((together, needed))
            needed = {}
        peak = _larger(peak, total((together, needed)))
    needed = _larger(total((together, *map(_container_requests, _mappings(spec.get("containers"))))), peak)
    of_pod = _container_requests(spec)
    needed |= {name: amount for name, amount in of_pod.items() if name in _POD_LEVEL or name.startswith("hugepages-")}
    needed = total((needed, read_amounts(spec.get("overhead"))))
    return {**{name: amount for name, amount in needed.items() if amount}, PODS: 1000}


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found.get(name, 0) + amount
    return found


def _container_requests(container: Mapping[str, Any]) -> dict[str, int]:
    resources = container.get("resources")
    if not isinstance(resources, Mapping):
        return {}
    return {**read_amounts(resources.get("limits")), **read_amounts(resources.get("requests"))}


def _larger(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _mappings(given: object) -> list[Mapping[str, Any]]:
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
