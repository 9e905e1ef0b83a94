"""`muster top`."""

import sys

import click

from muster.cli.session import connect
from muster.cli.shared_options import complete_nodes, output_option
from muster.cli.single_keys import single_keys
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.cli.usage_views import Draw, node_document, node_view, nodes_view
from muster.client.client import Client


@click.command()
@click.argument("node", required=False, shell_complete=complete_nodes)
@click.option(
    "--interval", type=click.FloatRange(min=0.5), default=2.0, show_default=True, help="The seconds between updates."
)
@click.option("--once", is_flag=True, help="Print once, with all columns, and exit; this is the default in a pipe.")
@output_option("table", "json", "yaml")
def command(node: str | None, interval: float, once: bool, output: str) -> None:
    """Show what nodes, GPUs and tasks use right now. q exits, and so does Ctrl-C.

    With NODE, show the cores, network interfaces and GPUs of one node, and its last minutes.

    \b
    Examples:
      muster top
      muster top gpu-07
      muster top --once
      muster top -o json | jq '.tasks[] | {task, rssBytes}'
    """
    client = connect()
    draw = nodes_view if node is None else node_view(node)
    if output != "table":
        print_document(client.usage() if node is None else node_document(client, node), output)
    elif once or not sys.stdout.isatty():
        echo(draw(client, None))
    else:
        _live(client, draw, interval)


def _live(client: Client, draw: Draw, interval: float) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(no_color=click.get_current_context().find_root().color is False)
    with single_keys() as keys, Live(Text(), console=console, auto_refresh=False, screen=True) as live:
        while True:
            drawn = fitted(draw(client, console.width), console.height)
            live.update(Text.from_ansi(drawn, no_wrap=True, overflow="crop"), refresh=True)
            if keys.pressed("q", interval):
                return


def fitted(text: str, height: int) -> str:
    """The text with no more lines than the window has. The last one says how many are left out."""
    lines = text.split("\n")
    if len(lines) <= height:
        return text
    shown = lines[: max(0, height - 1)]
    return "\n".join([*shown, f"… {len(lines) - len(shown)} more lines; muster top --once shows all, q exits"])
