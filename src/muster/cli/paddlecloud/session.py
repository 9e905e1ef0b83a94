"""The server, the user and the datacenter of a command."""

import os
from dataclasses import dataclass

import click

from muster.cli.session import connect, say, say_warning
from muster.client.client import Client
from muster.client.paddle_config import config_file, read_active
from muster.client.paddle_login import log_in


@dataclass(frozen=True, slots=True)
class Session:
    """`datacenter` is empty if the server was chosen in Muster's way, and not by `~/.paddle/config`."""

    client: Client
    user: str
    datacenter: str = ""


def open_session() -> Session:
    """Chooses the server: --server, --context or MUSTER_SERVER, then `~/.paddle/config`, then Muster's own context."""
    chosen = click.get_current_context().find_root().obj or {}
    is_named = chosen.get("server") or chosen.get("context") or os.environ.get("MUSTER_SERVER")
    path = config_file()
    if is_named or not path.exists():
        client = connect()
        return Session(client, client.whoami()["user"])
    datacenter = read_active(path)
    found = log_in(datacenter, say)
    found.client.transport.on_warning = say_warning
    found.client.transport.on_notice = say
    return Session(found.client, found.user, datacenter.name)
