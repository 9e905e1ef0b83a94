"""`muster get tokens`."""

import click

from muster.cli.columns import token_columns
from muster.cli.options import output_option
from muster.cli.output import print_list
from muster.cli.session import connect


@click.command()
@output_option()
def command(output: str) -> None:
    """List tokens, with when they were last used. Their secrets are shown to nobody.

    \b
    Example:
      muster get tokens
    """
    print_list(connect().tokens(), token_columns(), output, name="id")
