"""`muster tokens`: keys for programs."""

import click

from muster.cli.options import output_option
from muster.cli.output import print_document
from muster.cli.session import connect, say


@click.group()
def command() -> None:
    """Make and revoke tokens, the keys that programs use instead of a password.

    \b
    Examples:
      export MUSTER_TOKEN=$(muster tokens create ci --expires 30d)
      muster get tokens
      muster tokens revoke ID
    """


@command.command()
@click.argument("name")
@click.option("--expires", metavar="DURATION", help="When it ends: 12h, 30d. Never, if absent.")
@click.option("--user", help="For somebody else (admins only).")
@output_option("name", "json", "yaml", default="name")
def create(name: str, expires: str | None, user: str | None, output: str) -> None:
    """Make a token. Its secret is printed once, on stdout, and never shown again.

    \b
    Examples:
      muster tokens create ci --expires 30d
      muster tokens create laptop > ~/.muster-token
    """
    token = connect().create_token(name, expires=expires, user=user)
    if output == "name":
        click.echo(token.secret)
    else:
        print_document(token.raw, output)
    say(f"token {token.id} for {token.user}; keep the secret, it is not shown again")


@command.command()
@click.argument("token_ids", metavar="ID...", nargs=-1, required=True)
def revoke(token_ids: tuple[str, ...]) -> None:
    """Revoke tokens, at once."""
    client = connect()
    for token_id in token_ids:
        client.revoke_token(token_id)
        say(f"revoked {token_id}")
