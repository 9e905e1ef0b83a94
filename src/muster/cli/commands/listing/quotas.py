"""`muster get quota`."""

import click

from muster.cli.cluster_columns import quota_columns
from muster.cli.options import output_option
from muster.cli.output import print_list
from muster.cli.session import connect, say


@click.command()
@click.option("--user", metavar="USER", help="Only what concerns this user (others: admins only).")
@output_option("table", "wide", "json", "yaml")
def command(user: str | None, output: str) -> None:
    """List limits: of virtual clusters as a whole and of users, what is used of each, and what waits on it.

    A job over a limit waits; one queued job too many is refused. Without a user, the limit is of the virtual cluster
    as a whole.

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
