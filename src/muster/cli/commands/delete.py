"""`muster delete`."""

import sys

import click

from muster.cli.session import connect, say
from muster.cli.shared_options import jobs_argument


@click.command()
@jobs_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def command(jobs: tuple[str, ...], yes: bool) -> None:
    """Delete ended jobs permanently, with their logs and history. A job that has not ended is refused.

    \b
    Examples:
      muster delete mnist
      muster delete -y $(muster get jobs --mine --state Cancelled -o name)
    """
    client = connect()
    handles = [client.job(ref) for ref in jobs]
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("cannot ask for confirmation without a terminal; add -y")
        names = ", ".join(handle.name for handle in handles)
        click.confirm(f"Delete {names}, with logs and history?", abort=True, err=True)
    for handle in handles:
        handle.delete()
        say(f"deleted job {handle.name} ({handle.id})")
