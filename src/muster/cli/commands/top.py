"""`muster top`."""

import sys
import time
from typing import Any

import click

from muster.cli.options import output_option
from muster.cli.output import print_document
from muster.cli.session import connect
from muster.cli.tables import render
from muster.cli.usage import node_usage_columns, task_usage_columns
from muster.client.client import Client


@click.command()
@click.option("--interval", type=click.FloatRange(min=0.5), default=2.0, show_default=True, help="Seconds between.")
@click.option("--once", is_flag=True, help="Print once and end; so it is in a pipe.")
@output_option("table", "json", "yaml")
def command(interval: float, once: bool, output: str) -> None:
    """Show what nodes and tasks use right now; Ctrl-C ends it.

    \b
    Examples:
      muster top
      muster top --once
      muster top -o json | jq '.tasks[] | {task, rssBytes}'
    """
    client = connect()
    if output != "table":
        print_document(client.usage(), output)
    elif once or not sys.stdout.isatty():
        click.echo(_drawn(client.usage()))
    else:
        _live(client, interval)


def _drawn(usage: dict[str, Any]) -> str:
    nodes, tasks = usage.get("nodes") or [], usage.get("tasks") or []
    busiest = sorted(tasks, key=lambda task: task.get("cpuPercent") or 0, reverse=True)
    lines = render(node_usage_columns(), nodes)
    lines += ["", *render(task_usage_columns(), busiest)] if busiest else ["", "no task is running"]
    return "\n".join(lines)


def _live(client: Client, interval: float) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(no_color=click.get_current_context().find_root().color is False)
    with Live(Text(), console=console, auto_refresh=False, screen=True) as live:
        while True:
            live.update(Text.from_ansi(_drawn(client.usage())), refresh=True)
            time.sleep(interval)
