"""`muster get workers JOB`."""

import click

from muster.cli.attempts import check_attempt
from muster.cli.session import connect, say
from muster.cli.shared_options import job_argument, output_option
from muster.cli.tables.columns import task_columns
from muster.cli.tables.output import print_list
from muster.cli.watching import watch


@click.command()
@job_argument
@click.option("--attempt", metavar="N|all", help="An earlier attempt, or `all`.")
@click.option("-w", "--watch", "watched", is_flag=True, help="Keep the table on the screen and update it.")
@output_option()
def command(job: str, attempt: str | None, watched: bool, output: str) -> None:
    """List the workers of a job, with the state, node, start, end and exit code of each.

    The workers of a killed job are listed while they stop.

    \b
    Examples:
      muster get workers mnist
      muster get workers @last -o wide
      muster get workers mnist --attempt all
    """
    client = connect()
    handle = client.job(job)
    check_attempt(handle.view, int(attempt) if attempt and attempt.isdecimal() else None)
    if watched:
        watch(client, lambda: handle.tasks(attempt), lambda _: task_columns(), output)
        return
    tasks = handle.tasks(attempt)
    print_list(tasks, task_columns(), output)
    if not tasks:
        say(f"job {handle.name} is {handle.state} and has no workers; `muster explain {handle.name}` says why")
