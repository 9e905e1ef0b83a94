"""`muster usage`."""

import click

from muster.cli.session import connect
from muster.cli.shared_options import job_argument, output_option
from muster.cli.tables.job_usage import usage_lines
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo


@click.command()
@job_argument
@output_option("table", "json", "yaml")
def command(job: str, output: str) -> None:
    """Show what a job used: CPU, memory, GPUs and energy; so far, if it still runs.

    CORES is the mean, and MEMORY the most that a worker had at once, each with what it asked for. Below the table is
    advice, if the job asked for much more than it used.

    \b
    Examples:
      muster usage mnist
      muster usage @last -o json | jq .used
    """
    client = connect()
    usage = client.job(job).usage()
    if output == "table":
        echo("\n".join(usage_lines(usage)))
    else:
        print_document(usage, output)
