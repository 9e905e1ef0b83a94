"""A node's sample as InfluxDB lines: measurements, tags and fields that boards of GPU pools already know.

Pure. Fields are floats always, for a field that was once written as an integer refuses floats for ever.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.ports.backend import NodeUsage

_MB = 1024 * 1024
_BITS = 8

FIELDS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("value",),
    "ram": ("total", "available", "percent", "used", "free"),
    "gpu": ("load", "mem_used", "mem_total", "mem_util", "mem_available", "temperature", "power"),
    "net": ("bandwidth", "recv_bytes_ps", "sent_bytes_ps"),
    "disk": ("total", "used", "free", "percent"),
}
"""Measurement → its fields. Of `gpu`, the last two are ours; boards that do not know them lose nothing."""
TAGS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("host", "cluster", "cpu"),
    "ram": ("host", "cluster"),
    "gpu": ("host", "cluster", "gpu"),
    "net": ("host", "cluster", "net"),
    "disk": ("host", "cluster", "disk"),
}

Values = Mapping[str, float | None]


def lines_of(cluster: str, host: str, usage: NodeUsage) -> list[str]:
    """`cluster` is a tag too: hosts of two clusters may have the same name."""
    # Our clock and not the node's: boards ask for what is newer than some minutes ago.
    stamp = int(usage.heard_at * 1000)
    common = f"cluster={_escaped(cluster)},host={_escaped(host)}"
    return [
        f"{measurement},{common}{tag} {fields} {stamp}"
        for measurement, tag, values in _points(usage.figures)
        if (fields := ",".join([f"{name}={float(value)!r}" for name, value in values.items() if value is not None]))
    ]


def _points(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, Values]]:
    """Measurement, the tag of its own, and the fields."""
    for index, percent in enumerate(figures.get("per_core") or ()):
        yield "cpu", f",cpu=cpu{index}", {"value": percent}
    yield "cpu", ",cpu=cpu-total", {"value": figures.get("cpu_percent")}
    yield "ram", "", _ram(figures)
    for gpu in figures.get("gpus") or ():
        yield "gpu", f",gpu=gpu{gpu['index']}", _gpu(gpu)
    for link in figures.get("net") or ():
        yield "net", f",net={_escaped(link['name'])}", _net(link)
    if figures.get("disk_total_bytes"):
        yield "disk", f",disk={_escaped(str(figures.get('disk_mount') or '/'))}", _disk(figures)


def _ram(figures: Mapping[str, Any]) -> Values:
    total, available = figures.get("memory_total_bytes"), figures.get("memory_available_bytes")
    return {
        "total": total,
        "available": available,
        "percent": None if not total or available is None else 100 * (total - available) / total,
        "used": figures.get("memory_used_bytes"),
        "free": figures.get("memory_free_bytes"),
    }


def _gpu(gpu: Mapping[str, Any]) -> Values:
    used, total, load = gpu.get("memory_used_bytes"), gpu.get("memory_total_bytes"), gpu.get("load")
    return {
        "load": None if load is None else load / 100,
        "mem_used": None if used is None else used / _MB,
        "mem_total": None if total is None else total / _MB,
        "mem_util": None if used is None or not total else used / total,
        "mem_available": None if used is None or not total else (total - used) / _MB,
        "temperature": gpu.get("temperature_c"),
        "power": gpu.get("power_w"),
    }


def _net(link: Mapping[str, Any]) -> Values:
    # Bits per second, whatever the names say: so they always were, and boards and old points mean bits.
    return {
        "bandwidth": link.get("speed_mbit"),
        "recv_bytes_ps": link["rx_bytes_s"] * _BITS,
        "sent_bytes_ps": link["tx_bytes_s"] * _BITS,
    }


def _disk(figures: Mapping[str, Any]) -> Values:
    total, used = figures["disk_total_bytes"], figures["disk_used_bytes"]
    return {
        "total": total,
        "used": used,
        "free": figures.get("disk_free_bytes", total - used),
        "percent": 100 * used / total,
    }


def _escaped(tag: str) -> str:
    """Names are chosen by people; none may end the tag, the line, or escape what ends it."""
    clean = "".join(letter if letter.isprintable() else "_" for letter in tag).replace("\\", "/")
    return clean.replace(",", "\\,").replace("=", "\\=").replace(" ", "\\ ")
