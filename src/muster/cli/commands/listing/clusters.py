"""`muster get clusters`."""

import click

from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import output_option
from muster.cli.tables.cluster_columns import virtual_cluster_columns
from muster.cli.tables.columns import cluster_columns
from muster.cli.tables.output import print_list
from muster.client.cluster_views import VirtualClusters


@click.command()
@output_option()
def command(output: str) -> None:
    """List clusters. A job without `cluster` goes to the default one.

    Admins also see mistakes in cluster files, and what is in effect instead.

    \b
    Examples:
      muster get clusters
      muster cluster check      # on the server's machine: every mistake, exit 1 if there is one
    """
    client = connect()
    found = client.clusters()
    if found or output in ("json", "yaml"):
        print_list(found, cluster_columns(), output)
    virtual = client.virtual_clusters()
    if not found and output not in ("json", "yaml"):
        _print_virtual(virtual, output)
    for problem in virtual.problems:
        say_warning(str(problem))


def _print_virtual(virtual: VirtualClusters, output: str) -> None:
    """What there is to submit to, where no physical cluster is offered."""
    if not virtual.items:
        print_list([], cluster_columns(), output)
        return
    print_list(virtual.items, virtual_cluster_columns(), output)
    say("this server offers virtual clusters only: `muster vc describe NAME` shows more of one")
