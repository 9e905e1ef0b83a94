"""The `resources` of a dstack task. Its amounts are ranges, of which Muster takes the lower end."""

import re
from typing import Any

from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(MB|GB|TB)?", re.IGNORECASE)
_RANGE = re.compile(r"(.*?)\.\.(.*)")
_VENDORS = ("nvidia", "amd", "google", "intel", "tenstorrent")
_TPU = re.compile(r"(?i)tpu|v\dp?-|v\dlite|v5litepod")
_IDLE = {"disk": "the disks are those of the nodes", "shm_size": "tasks use the /dev/shm of the node"}
_KNOWN = ("cpu", "memory", "gpu", *_IDLE)


def put_resources(into: Translator, given: Any) -> int:
    """Returns the number of GPUs on each node."""
    resources = into.mapping(given, ("resources",))
    for key in resources:
        if key in _IDLE:
            into.warn(("resources", key), f"has no effect: {_IDLE[key]}")
        elif key not in _KNOWN:
            into.refuse(("resources", key), "is no key of dstack's resources", f"one of {', '.join(_KNOWN)}")
    _cpu(into, resources.get("cpu"))
    _memory(into, resources.get("memory"))
    return _gpu(into, resources.get("gpu"))


def _cpu(into: Translator, given: Any) -> None:
    if isinstance(given, dict):
        given = given.get("count")
    if given is None:
        return
    *architecture, text = str(given).split(":")
    if architecture:
        into.warn(("resources", "cpu"), f"{architecture[0]} has no effect: --set where.labels chooses nodes")
    least = _least(text)
    if not re.fullmatch(r"\d+(\.\d+)?", least):
        into.refuse(("resources", "cpu"), f"is {given!r}", "a number such as 4 or 2..8", ("resources", "cpu"))
        return
    into.put(("resources", "cpu"), least, ("resources", "cpu"))


def _memory(into: Translator, given: Any) -> None:
    if given is None:
        return
    at: Path = ("resources", "memory")
    text = str(given.get("min") if isinstance(given, dict) else given)
    found = _AMOUNT.fullmatch(_least(text))
    if found is None:
        into.refuse(at, f"is {given!r}", "an amount such as 16GB or 16GB..", ("resources", "memory"))
        return
    unit = (found[2] or "GB")[0].upper()
    into.put(("resources", "memory"), f"{found[1]}{unit}i", at)
    if ".." in text:
        into.warn(at, "is the least there; here a task may use this much and no more")


def _gpu(into: Translator, given: Any) -> int:
    """`2`, `A100`, `24GB`, `A100:2`, `A100,H100:80GB:1..2`, or a mapping with name, memory and count."""
    if given in (None, 0, "0"):
        return 0
    at: Path = ("resources", "gpu")
    names, memory, count = _of_mapping(given) if isinstance(given, dict) else _of_text(str(given))
    least = _least(count)
    if not least.isdigit() or any(_TPU.match(name) for name in names):
        into.refuse(at, f"{given!r} cannot be translated", "--set resources.gpu=N", ("resources", "gpu"))
        return 0
    if ".." in count:
        into.warn(at, f"asks for {count} GPUs; the job gets {least}")
    if least == "0":
        return 0
    into.put(("resources", "gpu"), int(least), at)
    if names:
        model = names[0] if len(names) == 1 else names
        into.put(("resources", "gpuType"), model, at, "--set resources.gpuType=null takes any GPU")
    if memory and names:
        into.warn(at, f"{memory} has no effect: Muster tells GPUs apart by their model")
    elif memory:
        hint = "--set resources.gpuType=MODEL, or null for any GPU"
        message = f"asks for GPUs with {memory}, and Muster tells them apart by their model"
        into.refuse(at, message, hint, ("resources", "gpuType"))
    return int(least)


def _of_text(text: str) -> tuple[list[str], str, str]:
    names: list[str] = []
    memory, count = "", "1"
    for part in text.split(":"):
        plain = part.strip()
        if plain.lower() in _VENDORS:
            continue
        if re.search(r"\d\s*[GMT]B", plain, re.IGNORECASE):
            memory = plain
        elif re.fullmatch(r"\d*(\.\.\d*)?", plain) and plain:
            count = plain
        elif plain:
            names = [name.strip() for name in plain.split(",") if name.strip()]
    return names, memory, count


def _of_mapping(given: dict[str, Any]) -> tuple[list[str], str, str]:
    name, count = given.get("name"), given.get("count", 1)
    names = [name] if isinstance(name, str) else list(map(str, name)) if isinstance(name, list) else []
    memory = given.get("memory") or given.get("total_memory") or given.get("compute_capability") or ""
    if isinstance(count, dict):
        count = f"{count.get('min', 1)}..{count.get('max', '')}"
    return names, f"{memory}", str(count)


def _least(text: str) -> str:
    """The lower end of a range; of one that is open below, it is its upper end."""
    found = _RANGE.fullmatch(text.strip())
    return text.strip() if found is None else (found[1] or found[2]).strip()
