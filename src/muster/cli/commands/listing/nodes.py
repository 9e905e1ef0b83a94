"""`muster get nodes`."""

import click

from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.tables.columns import node_columns
from muster.cli.tables.output import print_list
from muster.cli.watching import watch


@click.command()
@click.option("-w", "--watch", "watched", is_flag=True, help="Keep the table on the screen and update it.")
@output_option()
def command(watched: bool, output: str) -> None:
    """List nodes with the resources that are allocated to tasks.

    On a Slurm cluster, what jobs of others have is counted, too. With -o wide it has a column of its own, and so have
    partitions. `muster top` shows what nodes actually use.

    \b
    Examples:
      muster get nodes
      muster get nodes -o wide
    """
    client = connect()
    if watched:
        watch(client, client.nodes, node_columns, output)
    else:
        nodes = client.nodes()
        print_list(nodes, node_columns(nodes), output)
        for cluster in client.clusters() if output in ("table", "wide") else ():
            for note in cluster.notes:
                say(f"cluster {cluster.name}: {note}")
