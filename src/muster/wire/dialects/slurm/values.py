"""The values of Slurm's options: times, amounts of memory, lists of nodes, counts and generic resources."""

import re
from dataclasses import dataclass
from math import prod

_MEMORY = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([KMGTP]?)i?B?", re.IGNORECASE)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
_ENDLESS = ("0", "unlimited", "infinite", "-1")
_TIME = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?")
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")
_MOST_HOSTS = 65_536
_LONGEST_LIST = 8192
"""A list is searched for brackets from each of its commas."""
_BRACKETS = re.compile(r"\[([^\]]*)\]")


class NotUnderstood(ValueError):
    """The value is not one that Slurm would take. The message says what was expected."""


def seconds(text: str) -> int | None:
    """Minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s; None if there is no limit."""
    if text.lower() in _ENDLESS:
        return None
    found = _TIME.fullmatch(text)
    if found is None:
        raise NotUnderstood(
            "expected minutes, minutes:seconds, hours:minutes:seconds or days-hours[:minutes[:seconds]]"
        )
    days, *parts = (None if part is None else int(part) for part in found.groups())
    given = [part for part in parts if part is not None]
    if days is not None:
        hours, minutes, rest = [*given, 0, 0][:3]
        return days * 86_400 + hours * 3600 + minutes * 60 + rest
    if len(given) == 1:
        return given[0] * 60
    if len(given) == 2:
        return given[0] * 60 + given[1]
    return given[0] * 3600 + given[1] * 60 + given[2]


def memory_bytes(text: str) -> int:
    """A bare number is in MiB."""
    found = _MEMORY.fullmatch(text.strip())
    if found is None:
        raise NotUnderstood("expected an amount such as 4000, 500M or 64G")
    return int(float(found[1]) * _UNITS[found[2].upper() or "M"])


def count(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text.strip()):
        raise NotUnderstood("expected a whole number")
    return int(text)


def positive(text: str) -> int:
    found = count(text)
    if not found:
        raise NotUnderstood("expected a number of at least 1")
    return found


def node_count(text: str) -> tuple[int, int]:
    """The least and the most: `2`, `2-4`, and `1,2,4`, which lists the numbers that will do."""
    if found := _RANGE.fullmatch(text.strip()):
        least, most = positive(found[1]), positive(found[2])
        if most < least:
            raise NotUnderstood("expected a range such as 2-4")
        return least, most
    counts = [positive(part) for part in text.split(",")]
    return min(counts), max(counts)


@dataclass(frozen=True, slots=True)
class Gres:
    """A number of generic resources: `gpu:a100:4` are four GPUs of a type."""

    name: str
    type: str
    count: int


def gres(text: str) -> list[Gres]:
    """`gpu:2`, `gpu:a100:2(S:0)`, `gres/gpu=2`, several with commas. Without a number it is one."""
    found = []
    for item in text.split(","):
        written = item.strip()
        plain = (written.partition("(")[0] if written.endswith(")") else written).removeprefix("gres/")
        plain = plain.removeprefix("gres:").replace("=", ":")
        if plain in ("", "none", "NONE"):
            continue
        name, *rest = plain.split(":")
        number = rest.pop() if rest and re.fullmatch(r"\d{1,9}[kKmMgG]?", rest[-1]) else "1"
        if not re.fullmatch(r"[\w.-]+", name) or len(rest) > 1 or not number.isdigit():
            raise NotUnderstood("expected a name, a type and a number, such as gpu:a100:2")
        found.append(Gres(name, rest[0] if rest else "", int(number)))
    return found


def gpus(text: str) -> list[Gres]:
    """What `--gpus` and its relatives take: `4`, `a100:4`."""
    return gres(",".join(f"gpu:{item.strip()}" for item in text.split(",")))


def hosts(text: str) -> list[str]:
    """`node[01-03,07],login1` as the names that it stands for."""
    if len(text) > _LONGEST_LIST:
        raise NotUnderstood(f"expected a list of at most {_LONGEST_LIST} characters")
    parts = [part.strip() for part in _outside_brackets(text)]
    if sum(_count(part) for part in parts) > _MOST_HOSTS:
        raise NotUnderstood(f"expected at most {_MOST_HOSTS} nodes")
    return list(dict.fromkeys(name for part in parts for name in _expanded(part)))


def _count(part: str) -> int:
    """How many nodes a part stands for, without writing them out."""
    return prod(len(_numbers_in(found)) for found in _BRACKETS.findall(part))


def _outside_brackets(text: str) -> list[str]:
    if text.count("[") != text.count("]") or re.search(r"\[[^\]]*\[|\]\]", text):
        raise NotUnderstood("expected a list of nodes such as node[01-04,07]")
    return [part for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _expanded(part: str) -> list[str]:
    names, end = [""], 0
    for found in _BRACKETS.finditer(part):
        before, end = part[end : found.start()], found.end()
        names = [f"{name}{before}{number}" for name in names for number in _numbers_in(found[1])]
    return [f"{name}{part[end:]}" for name in names]


def _numbers_in(bracket: str) -> list[str]:
    return [number for item in bracket.split(",") for number in _numbers(item)]


def _numbers(item: str) -> list[str]:
    bounds = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", item)
    if bounds is None:
        raise NotUnderstood("expected a list of nodes such as node[01-04,07]")
    first, last = bounds[1], bounds[2] or bounds[1]
    if int(last) - int(first) > _MOST_HOSTS:
        raise NotUnderstood(f"expected at most {_MOST_HOSTS} nodes")
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
