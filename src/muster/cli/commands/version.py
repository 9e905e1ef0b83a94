"""`muster version`."""

import click

from muster.cli.session import connect, say
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.client.errors import MusterError
from muster.version import __version__


@click.command()
@click.option(
    "--client", "alone", is_flag=True, help="Print only the version of this command, without contacting a server."
)
@output_option("table", "json", "yaml")
def command(alone: bool, output: str) -> None:
    """Print the versions of this command and of the server.

    \b
    Examples:
      muster version
      muster version --client -o json
    """
    versions: dict[str, str | None] = {"client": __version__}
    why = ""
    if not alone:
        try:
            versions["server"] = connect().whoami()["server"]["version"]
        except MusterError as error:
            versions["server"], why = None, error.message
    if output != "table":
        print_document(versions, output)
    else:
        echo("\n".join(f"{name}  {value or '-'}" for name, value in versions.items()))
    if why:
        say(f"server: {why}")
