"""`registry` and `delete registry`: logins to registries of images, kept as secrets of Muster.

The value of such a secret is a `config.json` of Docker, which `runtime.pullSecret` of a job names.
"""

import base64
import json
import sys
from collections.abc import Iterator
from datetime import datetime

import click

from muster.cli.lazy_group import Group
from muster.cli.paddlecloud.session import open_session
from muster.cli.session import say
from muster.client.client import Client

PREFIX = "pcloud-registry-"
"""What paddlecloud puts before the names of these secrets."""


def registries(client: Client, user: str) -> Iterator[tuple[str, datetime | None]]:
    """Yields the names of the user's registries, and when each was stored first."""
    for secret in client.secrets():
        if secret.name.startswith(PREFIX) and secret.owner in ("", user):
            yield secret.name.removeprefix(PREFIX), secret.created_at


@click.command()
@click.option("-name", "--name", required=True, help="The name of the registry, for `submit -registry`.")
@click.option("-username", "--username", required=True, help="The user name in the registry.")
@click.option(
    "-password", "--password", help="The password. Others can see it in the process list; without it, it is read."
)
@click.option("-server", "--server", required=True, help="The address of the registry.")
def registry(name: str, username: str, password: str | None, server: str) -> None:
    """Store the login to a registry of images.

    Without -password, the command asks for the password, or reads it from standard input.

    \b
    Example:
      muster paddlecloud registry -name lab -username li -server registry.example.org < password
    """
    session = open_session()
    session.client.set_secret(PREFIX + name, docker_config(server, username, password or _password()))
    say(f"registry {name} is stored")


@click.group(cls=Group)
def delete() -> None:
    """Delete the login to a registry.

    \b
    Example:
      muster paddlecloud delete registry lab
    """


@delete.command("registry")
@click.argument("name")
def delete_registry(name: str) -> None:
    """Delete the login to a registry.

    \b
    Example:
      muster paddlecloud delete registry lab
    """
    open_session().client.delete_secret(PREFIX + name)
    say(f"registry {name} is deleted")


def docker_config(server: str, username: str, password: str) -> str:
    login = base64.b64encode(f"{username}:{password}".encode()).decode()
    return json.dumps({"auths": {server: {"username": username, "password": password, "auth": login}}})


def _password() -> str:
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")
