"""Prometheus metrics of nodes and their GPUs.

They are collected anew for every scrape, so that a node that left is simply not in the answer. A pool has tens of
thousands of them (each core is one), which take a while to write: they are rendered outside the event loop, from a
snapshot that was taken on it.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from muster.domain.nodes import Node
from muster.engine.context import Context
from muster.ports.capabilities import NodeUsage
from muster.server.metric_families import Described, Families

STALE_S = 60.0
"""A sample that is older than this is not exposed."""
_BYTES_OF_MBIT = 1_000_000 // 8
_NODE = ("cluster", "node")
_CORE = (*_NODE, "core")
_DEVICE = (*_NODE, "device")
_GPU = (*_NODE, "gpu", "model")


METRICS: dict[str, Described] = {
    "muster_node_up": Described("1 while the node answers.", _NODE),
    "muster_node_heard_seconds": Described("Seconds since the node was last heard.", _NODE),
    "muster_node_cpu_percent": Described("CPU in use.", _NODE, "cpu_percent"),
    "muster_node_core_percent": Described("CPU in use, core by core.", _CORE),
    "muster_node_load1": Described("Load average of one minute.", _NODE, "load1"),
    "muster_node_memory_total_bytes": Described("Memory.", _NODE, "memory_total_bytes"),
    "muster_node_memory_used_bytes": Described("Memory in use.", _NODE, "memory_used_bytes"),
    "muster_node_memory_available_bytes": Described(
        "Memory that programs could still get.", _NODE, "memory_available_bytes"
    ),
    "muster_node_memory_free_bytes": Described("Memory that nothing uses.", _NODE, "memory_free_bytes"),
    "muster_node_disk_total_bytes": Described("Disk of the node's folder.", _DEVICE, "disk_total_bytes"),
    "muster_node_disk_used_bytes": Described("Disk in use.", _DEVICE, "disk_used_bytes"),
    "muster_node_disk_free_bytes": Described("Disk that programs could still get.", _DEVICE, "disk_free_bytes"),
    "muster_node_net_receive_bytes_per_second": Described("Received.", _DEVICE),
    "muster_node_net_transmit_bytes_per_second": Described("Sent.", _DEVICE),
    "muster_node_net_speed_bytes_per_second": Described("How fast the link is.", _DEVICE),
    "muster_gpu_load_percent": Described("How busy the GPU is.", _GPU, "load"),
    "muster_gpu_memory_used_bytes": Described("Memory of the GPU in use.", _GPU, "memory_used_bytes"),
    "muster_gpu_memory_total_bytes": Described("Memory of the GPU.", _GPU, "memory_total_bytes"),
    "muster_gpu_temperature_celsius": Described("Temperature of the chip.", _GPU, "temperature_c"),
    "muster_gpu_power_watts": Described("Power drawn.", _GPU, "power_w"),
    "muster_gpu_ecc_errors": Described(
        "Memory errors that could not be corrected, since the GPU was last reset.", _GPU, "ecc_errors"
    ),
    "muster_gpu_out_of_service": Described("1 while the GPU is not given to any task.", _GPU),
    "muster_gpu_lost": Described("1 while the driver does not list the GPU.", _GPU),
    "muster_gpu_foreign_processes": Described("Processes on the GPU that Muster did not start.", _GPU),
    "muster_gpu_allocated": Described(
        "1 while a task has the GPU; unknown where Slurm or Kubernetes places tasks.", _GPU
    ),
}


def _measured(labels: tuple[str, ...]) -> dict[str, str]:
    return {name: metric.measured for name, metric in METRICS.items() if metric.labels == labels and metric.measured}


_OF_NODE, _OF_DISK, _OF_GPU = _measured(_NODE), _measured(_DEVICE), _measured(_GPU)


@dataclass(frozen=True, slots=True)
class Seen:
    """A node and its last sample, as they are at the time of a scrape."""

    cluster: str
    node: Node
    usage: NodeUsage | None
    silent_s: float
    """How long ago the sample came."""
    taken: frozenset[int] | None
    """The GPUs that tasks have; None where an engine places tasks."""


async def node_metrics(context: Context, clusters: Sequence[str]) -> bytes:
    collector = NodeCollector(_snapshot(context, clusters))
    return await asyncio.to_thread(generate_latest, collector)


def _snapshot(context: Context, clusters: Sequence[str]) -> list[Seen]:
    now, seen, tasks = context.clock(), [], context.open_jobs.tasks_by_node()
    for cluster in clusters:
        backend = context.backends.get(cluster)
        if backend is None:
            continue
        usage = backend.capabilities.latest_usage()
        for node in backend.nodes():
            sample = usage.get(node.name)
            silent_s = max(0.0, now - sample.received_at) if sample else 0.0
            held = tasks.get((cluster, node.name), ())
            taken = frozenset(index for task in held for index in task.placement.devices)
            is_engine = backend.capabilities.engine is not None
            seen.append(Seen(cluster, node, sample, silent_s, None if is_engine else taken))
    return seen


class NodeCollector(Collector):
    """The metrics of one snapshot. A metric that no node has a value for is left out."""

    def __init__(self, seen: Sequence[Seen]) -> None:
        self._seen = seen

    def collect(self) -> Iterable[GaugeMetricFamily]:
        families = Families(METRICS)
        for seen in self._seen:
            _add_node(families, seen)
        return families.filled()


def _add_node(families: Families, seen: Seen) -> None:
    labels = (seen.cluster, seen.node.name)
    models = {device.index: device.model for device in seen.node.capacity.devices}
    families.add("muster_node_up", labels, int(seen.node.is_reachable))
    for device in seen.node.capacity.devices:
        is_out = int(bool(device.out_of_service))
        of_gpu = (*labels, str(device.index), device.model)
        families.add("muster_gpu_out_of_service", of_gpu, is_out)
        if seen.taken is not None:
            families.add("muster_gpu_allocated", of_gpu, int(device.index in seen.taken))
    if seen.usage is None:
        return
    families.add("muster_node_heard_seconds", labels, round(seen.silent_s, 3))
    if seen.silent_s < STALE_S:
        _add_sample(families, labels, models, seen.usage.metrics)
        _add_lost(families, seen, models, seen.usage.metrics)


def _add_sample(
    families: Families, labels: tuple[str, str], models: Mapping[int, str], sample: Mapping[str, Any]
) -> None:
    for metric, name in _OF_NODE.items():
        families.add(metric, labels, sample.get(name))
    for index, percent in enumerate(sample.get("per_core") or ()):
        families.add("muster_node_core_percent", (*labels, str(index)), percent)
    for metric, name in _OF_DISK.items():
        families.add(metric, (*labels, str(sample.get("disk_mount") or "/")), sample.get(name))
    for link in sample.get("net") or ():
        _add_link(families, (*labels, link["name"]), link)
    for gpu in sample.get("gpus") or ():
        of_gpu = (*labels, str(gpu["index"]), models.get(gpu["index"], ""))
        for metric, name in _OF_GPU.items():
            families.add(metric, of_gpu, gpu.get(name))
        families.add("muster_gpu_foreign_processes", of_gpu, len(gpu.get("foreign_pids") or ()))


def _add_lost(families: Families, seen: Seen, models: Mapping[int, str], sample: Mapping[str, Any]) -> None:
    """An engine's sample has the GPUs of its tasks only, so that the others are not lost."""
    sampled = {gpu["index"]: bool(gpu.get("missing")) for gpu in sample.get("gpus") or ()}
    for index, model in models.items():
        if seen.taken is not None or index in sampled:
            labels = (seen.cluster, seen.node.name, str(index), model)
            families.add("muster_gpu_lost", labels, int(sampled.get(index, True)))


def _add_link(families: Families, labels: Sequence[str], link: Mapping[str, Any]) -> None:
    families.add("muster_node_net_receive_bytes_per_second", labels, link.get("rx_bytes_s"))
    families.add("muster_node_net_transmit_bytes_per_second", labels, link.get("tx_bytes_s"))
    if speed_mbit := link.get("speed_mbit"):
        families.add("muster_node_net_speed_bytes_per_second", labels, speed_mbit * _BYTES_OF_MBIT)
