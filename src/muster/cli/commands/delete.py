"""`muster delete`."""

import sys

import click
from click.shell_completion import CompletionItem

from muster.cli.session import connect, say
from muster.cli.shared_options import complete_jobs, complete_secrets

_SECRETS = ("secret/", "secrets/")


def _complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    for prefix in _SECRETS:
        if incomplete.startswith(prefix):
            found = complete_secrets(ctx, parameter, incomplete.removeprefix(prefix))
            return [CompletionItem(prefix + item.value, help=item.help) for item in found]
    return complete_jobs(ctx, parameter, incomplete)


@click.command()
@click.argument("refs", metavar="JOB|secret/NAME...", nargs=-1, required=True, shell_complete=_complete)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--owner", metavar="USER", help="The owner of the secrets, if it is not you. Admins only.")
def command(refs: tuple[str, ...], yes: bool, owner: str | None) -> None:
    """Delete ended jobs permanently, with their logs and history, or secrets. A job that has not ended is refused. Jobs
    that ask for a deleted secret fail at their next start.

    \b
    Examples:
      muster delete mnist
      muster delete secret/wandb
      muster delete -y $(muster get jobs --mine --state Cancelled -o name)
    """
    client = connect()
    secrets = [ref.partition("/")[2] for ref in refs if ref.startswith(_SECRETS)]
    jobs = [ref.removeprefix("job/").removeprefix("jobs/") for ref in refs if not ref.startswith(_SECRETS)]
    handles = [client.job(ref) for ref in jobs]
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("cannot ask for confirmation without a terminal; add -y")
        if handles:
            names = ", ".join(handle.name for handle in handles)
            click.confirm(f"Delete {names}, with logs and history?", abort=True, err=True)
        if secrets:
            click.confirm(f"Delete {_named(secrets)}?", abort=True, err=True)
    for handle in handles:
        handle.delete()
        say(f"deleted job {handle.name} ({handle.id})")
    for name in secrets:
        client.delete_secret(name, owner=owner)
        say(f"deleted secret {name}")


def _named(secrets: list[str]) -> str:
    return f"{'secret' if len(secrets) == 1 else 'secrets'} {', '.join(secrets)}"
