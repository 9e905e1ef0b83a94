"""`muster whoami`."""

from collections.abc import Mapping
from typing import Any

import click

from muster.cli.session import connect
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document, print_pairs
from muster.cli.terminal import echo


@click.command()
@output_option("table", "json", "yaml", "name")
def command(output: str) -> None:
    """Show your user name and the server.

    \b
    Example:
      muster whoami -o name
    """
    client = connect()
    who = client.whoami()
    if output == "name":
        echo(who["user"])
    elif output != "table":
        print_document(who, output)
    else:
        version = who["server"]["version"]
        pairs = [("User", who["user"]), ("Role", who["role"]), ("Scope", _scope(who)), ("Server", client.server)]
        print_pairs([*pairs, ("Version", version)])


def _scope(who: Mapping[str, Any]) -> str | None:
    """A token of the widest scope, `admin`, gives nobody more rights than they have, and must not read as if it did."""
    scope = who.get("scope")
    return "everything that you may do" if scope == "admin" and who["role"] != "admin" else scope
