"""Prometheus series of nodes and their cards, written by hand.

A pool has tens of thousands of them (a core is one). They are made anew at every question: a node that left is simply
not in the answer, and a gauge object for each would cost ten times as much.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from muster.domain.nodes import Node
from muster.engine.context import Context
from muster.ports.backend import NodeUsage

_STALE_S = 60.0
_NODES_AT_ONCE = 20

HELP = {
    "muster_node_up": "1 while the node answers.",
    "muster_node_heard_seconds": "Seconds since the node was last heard.",
    "muster_node_cpu_percent": "CPU in use.",
    "muster_node_core_percent": "CPU in use, core by core.",
    "muster_node_load1": "Load average of one minute.",
    "muster_node_memory_total_bytes": "Memory.",
    "muster_node_memory_used_bytes": "Memory in use.",
    "muster_node_memory_available_bytes": "Memory that programs could still get.",
    "muster_node_memory_free_bytes": "Memory that nothing uses.",
    "muster_node_disk_total_bytes": "Disk of the node's folder.",
    "muster_node_disk_used_bytes": "Disk in use.",
    "muster_node_disk_free_bytes": "Disk that programs could still get.",
    "muster_node_net_receive_bytes_per_second": "Received.",
    "muster_node_net_transmit_bytes_per_second": "Sent.",
    "muster_node_net_speed_bytes_per_second": "How fast the link is.",
    "muster_gpu_load_percent": "How busy the card is.",
    "muster_gpu_memory_used_bytes": "Memory of the card in use.",
    "muster_gpu_memory_total_bytes": "Memory of the card.",
    "muster_gpu_temperature_celsius": "Temperature of the chip.",
    "muster_gpu_power_watts": "Power drawn.",
    "muster_gpu_ecc_errors": "Memory errors that could not be corrected, since the card was last reset.",
    "muster_gpu_out_of_service": "1 while nobody is given the card.",
}

_OF_NODE = {
    "muster_node_cpu_percent": "cpu_percent",
    "muster_node_load1": "load1",
    "muster_node_memory_total_bytes": "memory_total_bytes",
    "muster_node_memory_used_bytes": "memory_used_bytes",
    "muster_node_memory_available_bytes": "memory_available_bytes",
    "muster_node_memory_free_bytes": "memory_free_bytes",
}
_OF_DISK = {
    "muster_node_disk_total_bytes": "disk_total_bytes",
    "muster_node_disk_used_bytes": "disk_used_bytes",
    "muster_node_disk_free_bytes": "disk_free_bytes",
}
_OF_GPU = {
    "muster_gpu_load_percent": "load",
    "muster_gpu_memory_used_bytes": "memory_used_bytes",
    "muster_gpu_memory_total_bytes": "memory_total_bytes",
    "muster_gpu_temperature_celsius": "temperature_c",
    "muster_gpu_power_watts": "power_w",
    "muster_gpu_ecc_errors": "ecc_errors",
}
_BYTES_OF_MBIT = 1_000_000 // 8

Series = dict[str, list[str]]
"""Metric → its lines. The format wants those of one metric together."""


async def node_metrics(context: Context) -> bytes:
    series: Series = {name: [] for name in HELP}
    now, written = context.clock(), 0
    for cluster, backend in list(context.backends.items()):
        usage = backend.usage()
        for node in backend.nodes():
            add_node(series, cluster, node, usage.get(node.name), now)
            written += 1
            if written % _NODES_AT_ONCE == 0:
                await asyncio.sleep(0)  # others have waited long enough
    return "".join(_text(series)).encode()


def add_node(series: Series, cluster: str, node: Node, usage: NodeUsage | None, now: float) -> None:
    labels = f'cluster="{_escaped(cluster)}",node="{_escaped(node.name)}"'
    _add(series, "muster_node_up", labels, int(node.is_reachable))
    for device in node.capacity.devices:
        _add(series, "muster_gpu_out_of_service", _card(labels, node, device.index), int(bool(device.out_of_service)))
    if usage is None:
        return
    silent_s = max(0.0, now - usage.heard_at)
    _add(series, "muster_node_heard_seconds", labels, round(silent_s, 3))
    if silent_s < _STALE_S:
        _add_figures(series, labels, node, usage.figures)


def _add_figures(series: Series, labels: str, node: Node, figures: Mapping[str, Any]) -> None:
    for metric, name in _OF_NODE.items():
        _add(series, metric, labels, figures.get(name))
    cores = series["muster_node_core_percent"]
    for index, percent in enumerate(figures.get("per_core") or ()):
        cores.append(f'muster_node_core_percent{{{labels},core="{index}"}} {percent}\n')
    disk = f'{labels},device="{_escaped(str(figures.get("disk_mount") or "/"))}"'
    for metric, name in _OF_DISK.items():
        _add(series, metric, disk, figures.get(name))
    for link in figures.get("net") or ():
        _add_link(series, f'{labels},device="{_escaped(link["name"])}"', link)
    for gpu in figures.get("gpus") or ():
        card = _card(labels, node, gpu["index"])
        for metric, name in _OF_GPU.items():
            _add(series, metric, card, gpu.get(name))


def _add_link(series: Series, labels: str, link: Mapping[str, Any]) -> None:
    _add(series, "muster_node_net_receive_bytes_per_second", labels, link.get("rx_bytes_s"))
    _add(series, "muster_node_net_transmit_bytes_per_second", labels, link.get("tx_bytes_s"))
    if speed_mbit := link.get("speed_mbit"):
        _add(series, "muster_node_net_speed_bytes_per_second", labels, speed_mbit * _BYTES_OF_MBIT)


def _card(labels: str, node: Node, index: int) -> str:
    model = next((device.model for device in node.capacity.devices if device.index == index), "")
    return f'{labels},gpu="{index}",model="{_escaped(model)}"'


def _add(series: Series, metric: str, labels: str, value: object) -> None:
    """What is not known has no line."""
    if isinstance(value, int | float):
        series[metric].append(f"{metric}{{{labels}}} {value}\n")


def _text(series: Series) -> Iterator[str]:
    for metric, lines in series.items():
        if lines:
            yield f"# HELP {metric} {HELP[metric]}\n# TYPE {metric} gauge\n"
            yield from lines


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
