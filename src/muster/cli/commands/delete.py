"""`muster delete`."""

import sys

import click

from muster.cli.options import jobs_argument
from muster.cli.session import connect, say


@click.command()
@jobs_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def command(jobs: tuple[str, ...], yes: bool) -> None:
    """Forget ended jobs with their logs and history, for good. A job that still runs is refused.

    \b
    Examples:
      muster delete mnist
      muster delete -y $(muster get jobs --mine --state Cancelled -o name)
    """
    client = connect()
    handles = [client.job(ref) for ref in jobs]
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("nobody can be asked here; add -y")
        names = ", ".join(handle.name for handle in handles)
        click.confirm(f"Forget {names}, with logs and history?", abort=True, err=True)
    for handle in handles:
        handle.delete()
        say(f"job {handle.name} ({handle.id}) is gone")
