"""`muster explain`."""

import click

from muster.cli.explaining import explanation_lines
from muster.cli.options import job_argument, output_option
from muster.cli.output import print_document
from muster.cli.session import connect


@click.command()
@job_argument
@output_option("table", "json", "yaml")
def command(job: str, output: str) -> None:
    """Say in words why a job waits, or why it failed and what to do about it.

    \b
    Examples:
      muster explain mnist
      muster explain @last -o json | jq .fault
    """
    explanation = connect().job(job).explain()
    if output == "table":
        click.echo("\n".join(explanation_lines(explanation)))
    else:
        print_document(explanation.raw, output)
