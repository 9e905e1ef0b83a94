"""`muster tokens`, which creates and revokes tokens."""

import click

from muster.cli.failures import Failure
from muster.cli.lazy_group import Group
from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.client.client import Client
from muster.client.errors import NOT_FOUND, MusterError


@click.group(cls=Group)
def command() -> None:
    """Create and revoke tokens, which programs use instead of a password.

    \b
    Examples:
      export MUSTER_TOKEN=$(muster tokens create ci --expires 30d)
      muster get tokens
      muster tokens revoke ID
    """


@command.command()
@click.argument("name")
@click.option(
    "--expires",
    metavar="DURATION",
    help="The lifetime of the token: 12h, 30d. If absent, the longest that the server allows.",
)
@click.option("--user", help="The user of the token, if it is not you. Admins only.")
@click.option(
    "--scope",
    type=click.Choice(["read", "submit", "admin"]),
    help="What the token allows: reading; submitting and controlling jobs too; or all that you may do, the default.",
)
@click.option("--job", metavar="JOB", help="The only job that the token is for.")
@output_option("name", "json", "yaml", default="name")
def create(name: str, expires: str | None, user: str | None, scope: str | None, job: str | None, output: str) -> None:
    """Create a token. Its secret is printed once, on stdout, and never shown again.

    \b
    Examples:
      muster tokens create ci --expires 30d
      muster tokens create laptop > ~/.muster-token
      muster tokens create dashboard --scope read
    """
    if expires is not None and expires.strip().isdigit():
        raise click.BadParameter(
            f"{expires} what? Write a unit, such as {expires}d or {expires}h", param_hint="--expires"
        )
    client = connect()
    only = client.job(job).id if job == "@last" else job
    token = client.create_token(name, expires=expires, user=user, scope=scope, job=only)
    if output == "name":
        echo(token.secret)
    else:
        print_document(token.raw, output)
    say(f"created token {token.id} for {token.user}; keep the secret, it is not shown again")


@command.command()
@click.argument("token_ids", metavar="ID|NAME...", nargs=-1, required=True)
def revoke(token_ids: tuple[str, ...]) -> None:
    """Revoke tokens, by id or by a name that only one token has. They stop working at once.

    \b
    Examples:
      muster get tokens              # shows the ids
      muster tokens revoke 1m7h36wp0f642bev
      muster tokens revoke ci
    """
    client = connect()
    for token_id in token_ids:
        say(f"revoked token {_revoke(client, token_id)}")


def _revoke(client: Client, ref: str) -> str:
    try:
        client.revoke_token(ref)
    except MusterError as error:
        named = [token for token in client.tokens() if token.name == ref] if error.code == NOT_FOUND else []
        if not named:
            raise
        if len(named) > 1:
            ids = ", ".join(f"{token.id} of {token.user}" for token in named)
            raise Failure(f"{len(named)} tokens are called {ref!r}", hint=f"revoke by id: {ids}") from error
        client.revoke_token(named[0].id)
        return f"{ref} ({named[0].id})"
    return ref
