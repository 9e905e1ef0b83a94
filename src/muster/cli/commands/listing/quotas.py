"""`muster get quota`."""

import click

from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.tables.cluster_columns import quota_columns
from muster.cli.tables.output import print_list


@click.command()
@click.option("--user", metavar="USER", help="Only the limits of this user. Only admins may name other users.")
@output_option("table", "wide", "json", "yaml")
def command(user: str | None, output: str) -> None:
    """List the limits of virtual clusters and users, with the usage of each and the jobs that wait on it.

    A job that exceeds a limit waits; a job that exceeds the limit on queued jobs is refused. A limit without a user
    applies to the virtual cluster as a whole. A limit without a virtual cluster applies to the server as a whole: what
    exceeds it is refused.

    Limits of virtual clusters are in the files of clusters.d and change at once. Limits of the server as a whole are in
    `limits` of its config.yaml and change when the server is restarted.

    \b
    Examples:
      muster get quota
      muster get quota --user li
      muster get quota -o json
    """
    quotas = connect().quotas(user)
    print_list(quotas, quota_columns(), output)
    if not quotas:
        say("no limits")
