"""`muster explain`."""

from datetime import UTC, datetime

import click

from muster.cli.explaining import explanation_lines
from muster.cli.key_values import parse_assignments
from muster.cli.session import connect
from muster.cli.shared_options import job_argument, output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo


@click.command()
@job_argument
@click.option(
    "--what-if", "changes", multiple=True, metavar="KEY=VALUE", help="Also answer for this change: gpus=2, vc=b."
)
@output_option("table", "json", "yaml")
def command(job: str, changes: tuple[str, ...], output: str) -> None:
    """Explain why a job waits, or why it failed and what to do about it.

    \b
    Examples:
      muster explain mnist
      muster explain mnist --what-if gpus=2 --what-if vc=vision
      muster explain @last -o json | jq .fault
    """
    explanation = connect().job(job).explain(parse_assignments(changes, "--what-if"))
    if output == "table":
        echo("\n".join(explanation_lines(explanation, datetime.now(UTC))))
    else:
        print_document(explanation.raw, output)
