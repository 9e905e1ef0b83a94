"""Converts a sample of a node to InfluxDB lines, with the measurements, tags and fields of existing dashboards; and the
figures of jobs and queues, which those dashboards did not have.

Fields are always floats, because InfluxDB refuses floats for a field that was first written as an integer.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muster.ports.capabilities import NodeUsage
from muster.ports.exporting import WorkFigures

_MB = 1024 * 1024
_BITS = 8

FIELDS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("value",),
    "ram": ("total", "available", "percent", "used", "free"),
    "gpu": ("load", "mem_used", "mem_total", "mem_util", "mem_available", "temperature", "power"),
    "net": ("bandwidth", "recv_bytes_ps", "sent_bytes_ps"),
    "disk": ("total", "used", "free", "percent"),
    "job": ("tasks", "gpus", "gpu_load", "cpu", "memory", "run_seconds"),
    "user": ("queued", "running", "held", "gpus", "wait_seconds"),
    "queue": ("queued", "running", "held", "wait_seconds"),
}
"""Measurement → its fields. The last two of `gpu` are additions that existing dashboards ignore."""
TAGS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("host", "cluster", "cpu"),
    "ram": ("host", "cluster"),
    "gpu": ("host", "cluster", "gpu"),
    "net": ("host", "cluster", "net"),
    "disk": ("host", "cluster", "disk"),
    "job": ("cluster", "user", "id", "job"),
    "user": ("cluster", "user"),
    "queue": ("cluster", "virtual_cluster"),
}

Values = Mapping[str, float | None]


def lines_of(cluster: str, host: str, usage: NodeUsage) -> list[str]:
    """Convert a sample. `cluster` is a tag because hosts of two clusters may have the same name."""
    # This uses the server's clock, because dashboards query for recent points and the clock of a node may be wrong.
    stamp = int(usage.received_at * 1000)
    common = f"cluster={_escaped(cluster)},host={_escaped(host)}"
    return [
        f"{measurement},{common}{tag} {fields} {stamp}"
        for measurement, tag, values in _points(usage.metrics)
        if (fields := ",".join([f"{name}={float(value)!r}" for name, value in values.items() if value is not None]))
    ]


def lines_of_work(figures: WorkFigures, now: float) -> list[str]:
    stamp = int(now * 1000)
    return [
        f"{measurement}{_tags(tags)} {fields} {stamp}"
        for measurement, tags, values in _work_points(figures)
        if (fields := ",".join([f"{name}={float(value)!r}" for name, value in values.items() if value is not None]))
    ]


def _work_points(figures: WorkFigures) -> Iterator[tuple[str, Mapping[str, str], Values]]:
    for job in figures.jobs:
        load = job.gpu_load_percent
        yield (
            "job",
            {"cluster": job.cluster, "user": job.user, "id": job.id, "job": job.name},
            {
                "tasks": job.tasks,
                "gpus": job.gpus,
                "gpu_load": None if load is None else load / 100,
                "cpu": job.cpu_percent,
                "memory": job.memory_bytes,
                "run_seconds": job.run_s,
            },
        )
    for user in figures.users:
        counted = _counted(user.jobs, user.longest_wait_s) | {"gpus": user.gpus}
        yield "user", {"cluster": user.cluster, "user": user.user}, counted
    for queue in figures.queues:
        tags = {"cluster": queue.cluster, "virtual_cluster": queue.virtual_cluster}
        yield "queue", tags, _counted(queue.jobs, queue.longest_wait_s)


def _counted(jobs: Sequence[tuple[str, int]], wait_s: float) -> dict[str, float | None]:
    """Whatever holds nodes is `running`."""
    counts = dict(jobs)
    queued, held = counts.pop("Queued", 0), counts.pop("Held", 0)
    return {"queued": queued, "running": sum(counts.values()), "held": held, "wait_seconds": wait_s}


def _tags(tags: Mapping[str, str]) -> str:
    """InfluxDB takes no empty tags."""
    return "".join(f",{name}={_escaped(value)}" for name, value in tags.items() if value)


def _points(sample: Mapping[str, Any]) -> Iterator[tuple[str, str, Values]]:
    """Yield each measurement with its own tag and its fields."""
    for index, percent in enumerate(sample.get("per_core") or ()):
        yield "cpu", f",cpu=cpu{index}", {"value": percent}
    yield "cpu", ",cpu=cpu-total", {"value": sample.get("cpu_percent")}
    yield "ram", "", _ram(sample)
    for gpu in sample.get("gpus") or ():
        yield "gpu", f",gpu=gpu{gpu['index']}", _gpu(gpu)
    for link in sample.get("net") or ():
        yield "net", f",net={_escaped(link['name'])}", _net(link)
    if sample.get("disk_total_bytes"):
        yield "disk", f",disk={_escaped(str(sample.get('disk_mount') or '/'))}", _disk(sample)


def _ram(sample: Mapping[str, Any]) -> Values:
    total, available = sample.get("memory_total_bytes"), sample.get("memory_available_bytes")
    return {
        "total": total,
        "available": available,
        "percent": None if not total or available is None else 100 * (total - available) / total,
        "used": sample.get("memory_used_bytes"),
        "free": sample.get("memory_free_bytes"),
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
    # Bits per second in spite of the names, because existing dashboards and points use bits.
    return {
        "bandwidth": link.get("speed_mbit"),
        "recv_bytes_ps": link["rx_bytes_s"] * _BITS,
        "sent_bytes_ps": link["tx_bytes_s"] * _BITS,
    }


def _disk(sample: Mapping[str, Any]) -> Values:
    total, used = sample["disk_total_bytes"], sample["disk_used_bytes"]
    return {
        "total": total,
        "used": used,
        "free": sample.get("disk_free_bytes", total - used),
        "percent": 100 * used / total,
    }


def _escaped(tag: str) -> str:
    """Escape a tag value. Users choose names, and none may end the tag or the line."""
    clean = "".join(letter if letter.isprintable() else "_" for letter in tag).replace("\\", "/")
    return clean.replace(",", "\\,").replace("=", "\\=").replace(" ", "\\ ")
