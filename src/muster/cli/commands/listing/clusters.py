"""`muster get clusters`."""

import click

from muster.cli.columns import cluster_columns
from muster.cli.options import output_option
from muster.cli.output import print_list
from muster.cli.session import connect


@click.command()
@output_option()
def command(output: str) -> None:
    """List clusters; a job without `cluster` goes to the default one.

    \b
    Example:
      muster get clusters
    """
    print_list(connect().clusters(), cluster_columns(), output)
