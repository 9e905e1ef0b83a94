"""`muster get nodes`."""

import click

from muster.cli.columns import node_columns
from muster.cli.options import output_option
from muster.cli.output import print_list
from muster.cli.session import connect
from muster.cli.watching import watch


@click.command()
@click.option("-w", "--watch", "watched", is_flag=True, help="Keep it on the screen, up to date.")
@output_option()
def command(watched: bool, output: str) -> None:
    """List nodes with what tasks have been given of them.

    What they really burn is shown by `muster top`.

    \b
    Examples:
      muster get nodes
      muster get nodes -o wide
    """
    client = connect()
    if watched:
        watch(client, client.nodes, node_columns, output)
    else:
        print_list(client.nodes(), node_columns(), output)
