"""`muster logout`."""

import click

from muster.cli.failures import Failure
from muster.cli.session import say
from muster.client import contexts
from muster.client.client import Client
from muster.client.errors import MusterError


@click.command()
@click.pass_context
def command(ctx: click.Context) -> None:
    """Revoke the token of the current context, at each of its servers, and remove the context.

    \b
    Example:
      muster logout
    """
    known = contexts.load()
    name = ctx.find_root().params.get("context") or known.current
    if name is None or name not in known.known:
        raise Failure("you are not logged in anywhere", hint="`muster context list` shows the known servers")
    for one in known.known[name].receivers:
        _revoke(one)
    contexts.save(known.without(name))
    say(f"logged out and removed context {name}")


def _revoke(one: contexts.Context) -> None:
    client = Client(one.server, one.token)
    client.transport.fingerprint = one.fingerprint
    try:
        client.logout()
    except MusterError as error:
        say(f"{one.server} did not revoke the token: {error.message}")
