"""Prints the description of a node, for `describe` and `node describe`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from muster.cli.tables.ages import ago
from muster.cli.tables.colours import state_colour
from muster.cli.tables.columns import others_text
from muster.cli.tables.output import print_document, print_pairs
from muster.cli.terminal import echo
from muster.client.node_views import NodeView
from muster.lib.quantities import about_bytes

_FOUND = "muster/"
"""The prefix of labels that say what was found on the node."""


def describe_node(node: NodeView, output: str) -> None:
    if output != "table":
        print_document(node.raw, output)
        return
    since = ago(node.since, datetime.now(UTC))
    print_pairs(
        [
            ("Name", node.name),
            ("Cluster", node.cluster),
            ("State", click.style(node.state, fg=state_colour(node.state)) + (f", since {since}" if since else "")),
            ("Note", node.note),
            ("Address", node.raw.get("address")),
            ("Login", node.raw.get("login")),
            ("CPU", f"{node.cpu_used:g} of {node.cpu_total:g} allocated"),
            ("Memory", f"{about_bytes(node.memory_used)} of {about_bytes(node.memory_total)} allocated"),
            ("Others", others_text(node.raw.get("others"))),
            ("Partitions", ",".join(node.raw.get("partitions") or ())),
            ("Labels", _labels(node, found=False)),
            ("Found", _labels(node, found=True)),
            *_usage(node.raw.get("usage") or {}),
        ]
    )
    for gpu in node.gpus:
        echo(f"GPU {gpu.get('index')}: {gpu.get('model')}, {_allocation(gpu)}")
    for device in node.raw.get("devices") or ():
        files = f" ({', '.join(device['paths'])})" if device["paths"] else ""
        echo(f"{device['resource']} {device['index']}{files}: {_allocation(device)}")
    _print_section("Alerts", list(node.alerts))
    tasks = [f"{task['task']}, {task['state']}, of {task['owner']}" for task in node.raw.get("running") or ()]
    hidden = node.tasks - len(tasks)
    _print_section("Tasks", [*tasks, *([f"{hidden} more of private jobs"] if hidden > 0 else [])])


def _labels(node: NodeView, *, found: bool) -> str:
    """Labels for folders, environments and container engines were found by Muster; admins set the others."""
    labels = {key: value for key, value in node.labels.items() if key.startswith(_FOUND) is found}
    if not found:
        return ",".join(f"{key}={value}" for key, value in labels.items())
    names = ((key.removeprefix(_FOUND).replace("folder.", "folder "), value) for key, value in labels.items())
    return ", ".join(f"{name} ({value})" if value not in ("", "yes", "true") else name for name, value in names)


def _usage(usage: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Not every cluster measures all of them."""
    cpu, memory, load = usage.get("cpuPercent"), usage.get("memoryUsedBytes"), usage.get("load1")
    return [
        *([("CPU used", f"{cpu:.0f} %")] if cpu is not None else []),
        *([("Memory used", about_bytes(memory))] if memory is not None else []),
        *([("Load", f"{load:.2f}")] if load is not None else []),
    ]


def _allocation(gpu: Mapping[str, Any]) -> str:
    """The job that has the GPU, the share if it is only a part, and why it is out of service if it is."""
    used, why = gpu.get("used") or 0, gpu.get("outOfService")
    allocated = (
        f"{gpu.get('job') or ('in use' if used else 'free')}{f' ({used:g} of it is allocated)' if 0 < used < 1 else ''}"
    )
    return f"{allocated}; out of service: {why}" if why else allocated


def _print_section(title: str, lines: list[str]) -> None:
    if lines:
        echo(f"\n{title}:")
        echo("\n".join(f"  {line}" for line in lines))
