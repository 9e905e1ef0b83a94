"""`muster schema`."""

import click

from muster.cli.options import output_option
from muster.cli.output import print_document
from muster.cli.session import connect


@click.command()
@output_option("json", "yaml", default="json")
def command(output: str) -> None:
    """Print the JSON Schema of the job file, so that an editor can complete and check it.

    \b
    Example:
      muster schema > muster-job.schema.json
      # then, as the first line of a job file:
      # yaml-language-server: $schema=./muster-job.schema.json
    """
    print_document(connect().schema(), output)
