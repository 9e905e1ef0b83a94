"""`muster queue`."""

import click

from muster.cli.session import connect, say
from muster.cli.shared_options import complete_clusters, output_option
from muster.cli.tables.columns import queue_columns
from muster.cli.tables.output import print_list


@click.command()
@click.option("--cluster", metavar="NAME", help="Only jobs on this cluster.", shell_complete=complete_clusters)
@click.option("--mine", is_flag=True, help="Only your jobs.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=200,
    show_default=True,
    help="The largest number of jobs to list.",
)
@output_option()
def command(cluster: str | None, mine: bool, limit: int, output: str) -> None:
    """List running jobs, then waiting ones in the order in which they will start, and why they wait.

    POS is the place among all jobs that wait on the same cluster. A later job may start before an earlier one if that
    does not delay it. `muster explain JOB` says more about one of them.

    \b
    Examples:
      muster queue
      muster queue --mine
      muster queue --cluster lab -o json
    """
    jobs, total = connect().queue(cluster=cluster, owner="me" if mine else None, limit=limit)
    print_list(jobs, queue_columns(), output)
    if not jobs:
        say("no job runs or waits")
    elif len(jobs) < total:
        say(f"Showing {len(jobs)} of {total}; use --limit N for more")
