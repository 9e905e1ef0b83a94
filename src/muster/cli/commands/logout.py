"""`muster logout`."""

import click

from muster.cli.failures import Failure
from muster.cli.session import connect, say
from muster.client import contexts
from muster.client.errors import MusterError


@click.command()
@click.pass_context
def command(ctx: click.Context) -> None:
    """Revoke the token of the current context and remove the context.

    \b
    Example:
      muster logout
    """
    known = contexts.load()
    name = ctx.find_root().params.get("context") or known.current
    if name is None or name not in known.known:
        raise Failure("you are not logged in anywhere", hint="`muster context list` shows the known servers")
    try:
        connect().logout()
    except MusterError as error:
        say(f"the server did not revoke the token: {error.message}")
    contexts.save(known.without(name))
    say(f"logged out and removed context {name}")
