"""`muster tokens`, which creates and revokes tokens."""

import click

from muster.cli.lazy_group import Group
from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo


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
    token = connect().create_token(name, expires=expires, user=user, scope=scope, job=job)
    if output == "name":
        echo(token.secret)
    else:
        print_document(token.raw, output)
    say(f"created token {token.id} for {token.user}; keep the secret, it is not shown again")


@command.command()
@click.argument("token_ids", metavar="ID...", nargs=-1, required=True)
def revoke(token_ids: tuple[str, ...]) -> None:
    """Revoke tokens. They stop working at once.

    \b
    Examples:
      muster get tokens              # shows the ids
      muster tokens revoke 1m7h36wp0f642bev
    """
    client = connect()
    for token_id in token_ids:
        client.revoke_token(token_id)
        say(f"revoked token {token_id}")
