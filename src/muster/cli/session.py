"""The connection of a command to the server, made from the root options, and its messages on stderr."""

from typing import TYPE_CHECKING

import click

from muster.cli.terminal import echo

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.transport import Timeouts


def connect(timeouts: "Timeouts | None" = None) -> "Client":
    from muster.client.client import Client

    chosen = click.get_current_context().find_root().obj or {}
    client = Client(chosen.get("server"), context=chosen.get("context"), timeouts=timeouts)
    client.transport.on_warning = say_warning
    client.transport.on_notice = say
    return client


def say_warning(message: str) -> None:
    say(f"{click.style('warning:', fg='yellow')} {message}")


def say(message: str) -> None:
    """Prints a message to stderr. Only results go to stdout."""
    echo(message, err=True)
