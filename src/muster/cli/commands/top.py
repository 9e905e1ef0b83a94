"""`muster top`."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import click

from muster.cli.session import connect
from muster.cli.shared_options import complete_nodes, output_option
from muster.cli.tables.node_usage import node_lines
from muster.cli.tables.output import print_document
from muster.cli.tables.text_tables import Column, Row, fitting, render
from muster.cli.tables.usage_columns import (
    GpuUsage,
    Raw,
    gpu_columns,
    gpus_of,
    node_ref,
    node_usage_columns,
    task_usage_columns,
)
from muster.client.client import Client
from muster.client.errors import MusterError

_CHARTED_NODES = 8
_GPUS_SHOWN = 40
_CHARTED = "1m"
_LEAST = ("RECENT", "LOAD", "DISK", "OUT", "IN", "POWER", "TEMP", "PROCS", "OWNER")
"""The columns that a narrow terminal leaves out, in this order."""

Draw = Callable[[Client, int | None], str]
"""Takes the width of the terminal, or None if there is no terminal."""


@click.command()
@click.argument("node", required=False, shell_complete=complete_nodes)
@click.option(
    "--interval", type=click.FloatRange(min=0.5), default=2.0, show_default=True, help="The seconds between updates."
)
@click.option("--once", is_flag=True, help="Print once and exit; this is the default in a pipe.")
@output_option("table", "json", "yaml")
def command(node: str | None, interval: float, once: bool, output: str) -> None:
    """Show what nodes, GPUs and tasks use right now. Ctrl-C exits.

    With NODE, show the cores, network interfaces and GPUs of one node, and its last minutes.

    \b
    Examples:
      muster top
      muster top gpu-07
      muster top --once
      muster top -o json | jq '.tasks[] | {task, rssBytes}'
    """
    client = connect()
    draw = _nodes_view if node is None else _node_view(node)
    if output != "table":
        print_document(client.usage() if node is None else _one(client, node), output)
    elif once or not sys.stdout.isatty():
        click.echo(draw(client, None))
    else:
        _live(client, draw, interval)


def _nodes_view(client: Client, width: int | None) -> str:
    usage = client.usage()
    nodes = usage.get("nodes") or []
    # Each chart is one request to the server, so only a few nodes get one.
    charted = [node_ref(node) for node in nodes if node.get("usage")] if len(nodes) <= _CHARTED_NODES else []
    histories = {ref: _history(client, ref, _CHARTED) for ref in charted}
    lines = _table(node_usage_columns(histories), nodes, width)
    lines += _gpu_lines([gpu for node in nodes for gpu in gpus_of(node)], width)
    return "\n".join([*lines, *_task_lines(usage.get("tasks") or [], width)])


def _node_view(ref: str) -> Draw:
    def draw(client: Client, width: int | None) -> str:
        found = _one(client, ref)
        return "\n".join([*node_lines(found["node"], found["history"]), *_task_lines(found["tasks"], width)])

    return draw


def _one(client: Client, ref: str) -> dict[str, Any]:
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


def _table(columns: Sequence[Column[Row]], rows: Sequence[Row], width: int | None) -> list[str]:
    return render(fitting(columns, rows, width, _LEAST), rows, width=width)


def _gpu_lines(gpus: list[GpuUsage], width: int | None) -> list[str]:
    if not gpus:
        return []
    shown = gpus
    if len(gpus) > _GPUS_SHOWN:
        shown = [gpu for gpu in gpus if gpu.facts.get("job") or gpu.facts.get("outOfService")][:_GPUS_SHOWN]
    more = len(gpus) - len(shown)
    lines = ["", *_table(gpu_columns(shows_recent=False), shown, width)]
    return [*lines, f"and {more} more: muster top NODE"] if more else lines


def _task_lines(tasks: Sequence[Raw], width: int | None) -> list[str]:
    busiest = sorted(tasks, key=lambda task: task.get("cpuPercent") or 0, reverse=True)
    return ["", *_table(task_usage_columns(), busiest, width)] if busiest else ["", "no task is running"]


def _live(client: Client, draw: Draw, interval: float) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(no_color=click.get_current_context().find_root().color is False)
    with Live(Text(), console=console, auto_refresh=False, screen=True) as live:
        while True:
            drawn = draw(client, console.width)
            live.update(Text.from_ansi(drawn, no_wrap=True, overflow="crop"), refresh=True)
            time.sleep(interval)
