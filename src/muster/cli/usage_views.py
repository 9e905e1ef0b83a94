"""The texts of `muster top`: all nodes with their GPUs and tasks, or one node with its cores."""

from collections.abc import Callable, Sequence
from typing import Any

from muster.cli.tables.node_usage import node_lines
from muster.cli.tables.usage_columns import (
    GpuUsage,
    Raw,
    gpu_columns,
    gpus_of,
    node_ref,
    node_usage_columns,
    task_usage_columns,
    usage_table,
)
from muster.client.client import Client
from muster.client.errors import MusterError

_CHARTED_NODES = 8
_GPUS_SHOWN = 40
_CHARTED = "1m"

Draw = Callable[[Client, int | None], str]
"""Takes the width of the terminal, or None if there is no terminal. No line is wider than that."""


def nodes_view(client: Client, width: int | None) -> str:
    usage = client.usage()
    nodes = usage.get("nodes") or []
    # Each chart is one request to the server, so only a few nodes get one.
    charted = [node_ref(node) for node in nodes if node.get("usage")] if len(nodes) <= _CHARTED_NODES else []
    histories = {ref: _history(client, ref, _CHARTED) for ref in charted}
    is_several = len({node["cluster"] for node in nodes}) > 1
    lines = usage_table(node_usage_columns(histories, shows_cluster=is_several), nodes, width)
    lines += _gpu_lines([gpu for node in nodes for gpu in gpus_of(node)], width, shows_cluster=is_several)
    return "\n".join([*lines, *_task_lines(usage.get("tasks") or [], width)])


def node_view(ref: str) -> Draw:
    def draw(client: Client, width: int | None) -> str:
        found = node_document(client, ref)
        return "\n".join([*node_lines(found["node"], found["history"], width), *_task_lines(found["tasks"], width)])

    return draw


def node_document(client: Client, ref: str) -> dict[str, Any]:
    """The node with its tasks and its last minutes, as programs get it."""
    node = client.node(ref).raw
    tasks = [task for task in client.usage().get("tasks") or [] if task.get("node") == node["name"]]
    return {"node": node, "tasks": tasks, "history": _history(client, ref, None)}


def _history(client: Client, ref: str, since: str | None) -> Sequence[Raw]:
    """The last samples of a node; none if it has just been removed."""
    try:
        return client.node_usage(ref, since)
    except MusterError as error:
        if error.status == 404:
            return []
        raise


def _gpu_lines(gpus: list[GpuUsage], width: int | None, *, shows_cluster: bool) -> list[str]:
    if not gpus:
        return []
    shown = gpus
    if len(gpus) > _GPUS_SHOWN:
        shown = [gpu for gpu in gpus if gpu.facts.get("job") or gpu.facts.get("outOfService")][:_GPUS_SHOWN]
    more = len(gpus) - len(shown)
    lines = ["", *usage_table(gpu_columns(shows_recent=False, shows_cluster=shows_cluster), shown, width)]
    return [*lines, f"and {more} more: muster top NODE"] if more else lines


def _task_lines(tasks: Sequence[Raw], width: int | None) -> list[str]:
    busiest = sorted(tasks, key=lambda task: task.get("cpuPercent") or 0, reverse=True)
    return ["", *usage_table(task_usage_columns(), busiest, width)] if busiest else ["", "no task is running"]
