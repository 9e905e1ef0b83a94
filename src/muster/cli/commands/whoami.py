"""`muster whoami`."""

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
        pairs = [("User", who["user"]), ("Role", who["role"]), ("Scope", who.get("scope")), ("Server", client.server)]
        print_pairs([*pairs, ("Version", version)])
