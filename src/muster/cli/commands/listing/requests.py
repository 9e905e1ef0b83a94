"""`muster get request KEY`."""

import click

from muster.cli.session import connect
from muster.cli.shared_options import output_option
from muster.cli.tables.columns import job_columns
from muster.cli.tables.output import print_list


@click.command()
@click.argument("key")
@output_option()
def command(key: str, output: str) -> None:
    """Show the jobs that a request of yours has made. A submission that broke off says its key.

    The exit code is 1 if it has made none. It is safe to submit the job again then, if the server was not stopped in
    the middle of the request a moment ago.

    \b
    Examples:
      muster get request 0f6a…
      muster --server http://a:9090 get request 0f6a…
    """
    print_list(connect().made_by(key), job_columns(), output)
