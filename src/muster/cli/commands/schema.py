"""`muster schema`."""

import click

from muster.cli.session import connect
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document


@click.command()
@output_option("json", "yaml", default="json")
def command(output: str) -> None:
    """Print the JSON Schema of job files, with which editors complete and check them.

    \b
    Example:
      muster schema > muster-job.schema.json
      # then, as the first line of a job file:
      # yaml-language-server: $schema=./muster-job.schema.json
    """
    print_document(connect().schema(), output)
