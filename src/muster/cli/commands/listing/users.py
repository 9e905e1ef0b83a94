"""`muster get users`."""

import click

from muster.cli.session import connect
from muster.cli.shared_options import output_option
from muster.cli.tables.columns import user_columns
from muster.cli.tables.output import print_list


@click.command()
@output_option()
def command(output: str) -> None:
    """List users. Admins only.

    \b
    Example:
      muster get users -o name
    """
    print_list(connect().users(), user_columns(), output)
