"""GPUs in Slurm's words for generic and trackable resources."""

import re
from collections import Counter
from collections.abc import Mapping

from muster.backends.slurm.answers.amounts import Amounts

_ENTRY = re.compile(r"gpu(?::(?P<type>[^:(,=]+))?:(?P<count>\d+)(?P<unit>[KMGT])?(?:\(.*)?")
_INDICES = re.compile(r"\(IDX:([\d,-]+)\)")
_TRACKED = re.compile(r"gres/gpu(?::(?P<type>[^=,]+))?=(?P<count>\d+)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}


def gpus_by_type(gres: str) -> Mapping[str, int]:
    """`gpu:a100:2(S:0-1),gpu:v100:1`: how many of each type; the type is empty for GPUs that have none."""
    found: Counter[str] = Counter()
    for entry in _entries(gres):
        match = _ENTRY.fullmatch(entry)
        if match is not None and not (match["type"] or "").isdigit():
            found[match["type"] or ""] += int(match["count"]) * _UNITS[match["unit"] or ""]
    return {kind: count for kind, count in found.items() if count}


def gpu_indices(gres: str) -> tuple[int, ...]:
    """`gpu:a100:2(IDX:0,3),gpu:v100:2(IDX:4-5)`: which GPUs of a node are in use, as far as Slurm says it."""
    found: set[int] = set()
    for entry in _entries(gres):
        match = _INDICES.search(entry) if entry.startswith("gpu") else None
        for part in match[1].split(",") if match else ():
            first, _, last = part.partition("-")
            found.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(found))


def tracked_gpus(tres: str) -> Mapping[str, int]:
    """`cpu=4,gres/gpu=2,gres/gpu:a100=2`: how many of each type. Slurm counts all of them once more without a type."""
    found = {match["type"] or "": int(match["count"]) for match in _TRACKED.finditer(tres)}
    untyped = found.pop("", 0) - sum(found.values())
    if untyped > 0:
        found[""] = untyped
    return {kind: count for kind, count in found.items() if count}


def tracked_amounts(tres: str) -> Amounts:
    """`cpu=4,mem=4000M,node=1,gres/gpu=2`: what a job has."""
    cpus = re.search(r"(?:^|,)cpu=(\d+)", tres)
    return Amounts(int(cpus[1]) if cpus else 0, tracked_memory_bytes(tres) or 0, tracked_gpus(tres))


def tracked_memory_bytes(tres: str) -> int | None:
    """`mem=4000M` or `mem=1.5T`."""
    match = re.search(r"(?:^|,)mem=([\d.]+)([KMGTP]?)", tres)
    return None if match is None else int(float(match[1]) * _UNITS[match[2] or "M"])


def _entries(gres: str) -> list[str]:
    """The parts between commas that are outside of parentheses: `gpu:a100:2(IDX:0,3)` is one."""
    return [entry.strip() for entry in re.split(r",(?![^()]*\))", gres) if entry.strip()]
