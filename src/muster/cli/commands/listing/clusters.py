"""`muster get clusters`."""

import click

from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import output_option
from muster.cli.tables.columns import cluster_columns
from muster.cli.tables.output import print_list


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
    print_list(found, cluster_columns(), output)
    virtual = client.virtual_clusters()
    if virtual.items and not found:
        say("this server offers virtual clusters only: `muster vc list` shows them")
    for problem in virtual.problems:
        say_warning(str(problem))
