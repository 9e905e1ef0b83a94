"""`muster context`, which manages the known servers."""

from dataclasses import dataclass
from typing import Any

import click

from muster.cli.lazy_group import Group
from muster.cli.session import say
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_list
from muster.cli.tables.text_tables import Column
from muster.client import contexts


@dataclass(frozen=True, slots=True)
class _Known:
    """A context without its token, which must not be printed."""

    raw: dict[str, Any]


@click.group(cls=Group)
def command() -> None:
    """List, select and remove known servers. `muster login` adds one.

    \b
    Examples:
      muster context list
      muster context use lab
      muster --context lab get jobs
    """


@command.command("list")
@output_option()
def list_(output: str) -> None:
    """List the known servers; the current one is marked. A context may have several, in the order in which they are
    tried.

    \b
    Examples:
      muster context list
      muster context list -o json
    """
    known = contexts.load()
    items = [
        _Known(
            {
                "name": name,
                "server": item.server,
                "servers": [one.server for one in item.receivers],
                "user": item.user,
                "current": name == known.current,
            }
        )
        for name, item in known.known.items()
    ]
    columns: list[Column[_Known]] = [
        Column("CURRENT", lambda item: "*" if item.raw["current"] else " "),
        Column("NAME", lambda item: item.raw["name"]),
        Column("SERVER", lambda item: ", ".join(item.raw["servers"])),
        Column("USER", lambda item: item.raw["user"]),
    ]
    print_list(items, columns, output)


@command.command()
@click.argument("name")
def use(name: str) -> None:
    """Make NAME the current server.

    \b
    Example:
      muster context use lab
    """
    contexts.save(contexts.load().using(name))
    say(f"context {name} is now the current one")


@command.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove NAME and its token from this machine. The token stays valid; `muster logout` revokes it.

    \b
    Example:
      muster context remove lab
    """
    known = contexts.load().using(name)
    contexts.save(contexts.Contexts(contexts.load().current, known.known).without(name))
    say(f"removed context {name}")
