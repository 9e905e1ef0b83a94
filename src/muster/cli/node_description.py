"""A node in words, for `describe` and `node describe`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from muster.cli.ages import ago
from muster.cli.colours import of_state
from muster.cli.output import print_document, print_pairs
from muster.client.views import NodeView
from muster.lib.quantities import about_bytes

_FOUND = "muster/"
"""Labels that begin so say what was found there."""


def describe_node(node: NodeView, output: str) -> None:
    if output != "table":
        print_document(node.raw, output)
        return
    since = ago(node.since, datetime.now(UTC))
    print_pairs(
        [
            ("Name", node.name),
            ("Cluster", node.cluster),
            ("State", click.style(node.state, fg=of_state(node.state)) + (f", since {since}" if since else "")),
            ("Note", node.note),
            ("Address", node.raw.get("address")),
            ("Login", node.raw.get("login")),
            ("CPU", f"{node.cpu_used:g} of {node.cpu_total:g} given"),
            ("Memory", f"{about_bytes(node.memory_used)} of {about_bytes(node.memory_total)} given"),
            ("Labels", _labels(node, found=False)),
            ("Found there", _labels(node, found=True)),
            *_usage(node.raw.get("usage") or {}),
        ]
    )
    for gpu in node.gpus:
        click.echo(f"GPU {gpu.get('index')}: {gpu.get('model')}, {_given(gpu)}")
    _print_section("Alerts", list(node.alerts))
    tasks = [f"{task['task']}, {task['state']}, of {task['owner']}" for task in node.raw.get("running") or ()]
    hidden = node.tasks - len(tasks)
    _print_section("Tasks", [*tasks, *([f"{hidden} more of private jobs"] if hidden > 0 else [])])


def _labels(node: NodeView, *, found: bool) -> str:
    """Folders, environments and container engines are what was found; the rest is what admins wrote."""
    labels = {key: value for key, value in node.labels.items() if key.startswith(_FOUND) is found}
    if not found:
        return ",".join(f"{key}={value}" for key, value in labels.items())
    names = ((key.removeprefix(_FOUND).replace("folder.", "folder "), value) for key, value in labels.items())
    return ", ".join(f"{name} ({value})" if value not in ("", "yes", "true") else name for name, value in names)


def _usage(usage: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if not usage:
        return []
    return [
        ("CPU used", f"{usage.get('cpuPercent') or 0:.0f} %"),
        ("Memory used", about_bytes(usage.get("memoryUsedBytes") or 0)),
        ("Load", f"{usage.get('load1') or 0:.2f}"),
    ]


def _given(gpu: Mapping[str, Any]) -> str:
    """Who has it, and how much of it is given where it is shared; why nobody else may."""
    used, why = gpu.get("used") or 0, gpu.get("outOfService")
    given = f"{gpu.get('job') or 'free'}{f' ({used:g} of it is given)' if 0 < used < 1 else ''}"
    return f"{given}; out of service: {why}" if why else given


def _print_section(title: str, lines: list[str]) -> None:
    if lines:
        click.echo(f"\n{title}:")
        click.echo("\n".join(f"  {line}" for line in lines))
