"""`muster get tokens`."""

import click

from muster.cli.session import connect
from muster.cli.shared_options import output_option
from muster.cli.tables.columns import token_columns
from muster.cli.tables.output import print_list


@click.command()
@output_option()
def command(output: str) -> None:
    """List tokens and when they were last used. Their secrets are never shown.

    \b
    Example:
      muster get tokens
    """
    print_list(connect().tokens(), token_columns(), output, name="id")
