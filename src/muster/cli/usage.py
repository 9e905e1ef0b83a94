"""The columns of `muster top`: what is burnt, where `get nodes` shows what was promised."""

from collections.abc import Mapping
from typing import Any

from muster.cli.colours import of_state
from muster.cli.tables import Column
from muster.client.views import NodeView
from muster.lib.quantities import about_bytes

Raw = Mapping[str, Any]


def node_usage_columns() -> list[Column[Raw]]:
    return [
        Column("NODE", lambda node: node["name"]),
        Column("STATE", lambda node: node["state"], colour=of_state),
        Column("CPU", lambda node: _percent(_usage(node).get("cpuPercent")), right=True),
        Column("LOAD", lambda node: _two_digits(_usage(node).get("load1")), right=True),
        Column("MEMORY", _memory, right=True),
        Column("GPU", _gpus, right=True),
        Column("TASKS", lambda node: node.get("tasks"), right=True),
    ]


def task_usage_columns() -> list[Column[Raw]]:
    return [
        Column("TASK", lambda task: task["task"]),
        Column("JOB", lambda task: task.get("job")),
        Column("OWNER", lambda task: task.get("owner")),
        Column("NODE", lambda task: task.get("node")),
        Column("CPU", lambda task: _percent(task.get("cpuPercent")), right=True),
        Column("MEMORY", lambda task: about_bytes(task["rssBytes"]) if task.get("rssBytes") else None, right=True),
        Column("PROCS", lambda task: task.get("processes"), right=True),
    ]


def _usage(node: Raw) -> Raw:
    usage = node.get("usage")
    return usage if isinstance(usage, Mapping) else {}


def _memory(node: Raw) -> str:
    used = _usage(node).get("memoryUsedBytes")
    total = about_bytes((node.get("memory") or {}).get("total") or 0)
    return f"{'-' if used is None else about_bytes(used)}/{total}"


def _gpus(node: Raw) -> str | None:
    given = NodeView.of(node)
    return f"{given.gpus_used:g}/{len(given.gpus)}" if given.gpus else None


def _percent(value: Any) -> str | None:
    return None if value is None else f"{value:.0f}%"


def _two_digits(value: Any) -> str | None:
    return None if value is None else f"{value:.2f}"
