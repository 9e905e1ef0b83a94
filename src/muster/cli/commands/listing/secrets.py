"""`muster get secrets`."""

import click

from muster.cli.session import connect
from muster.cli.shared_options import output_option
from muster.cli.tables.columns import secret_columns
from muster.cli.tables.output import print_list


@click.command()
@output_option()
def command(output: str) -> None:
    """List your secrets; for admins, everybody's. Their values are never shown.

    \b
    Examples:
      muster get secrets
      muster get secrets -o json
    """
    print_list(connect().secrets(), secret_columns(), output)
