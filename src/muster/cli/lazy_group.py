"""Groups of commands that say what somebody meant who named none of them.

A lazy group imports its commands only when they are called. Names and short help texts are in a table, so that `--help`
and completion import no command.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from muster.cli.failures import Failure
from muster.cli.familiar_words import COMMANDS, OBJECTS
from muster.cli.listed_objects import listed

_LISTING = ("list", "ls", "show", "get")
_SYNONYMS = (("remove", "delete", "rm", "del"), ("add", "create", "new", "set"))


class Entry(NamedTuple):
    """`module` contains the command under the name `attribute`."""

    module: str
    help: str
    section: str = "Commands"
    attribute: str = "command"


class Group(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and not self.has(args[0]):
            ctx.fail(f"there is no command {args[0]!r}{self._guess(ctx, args)}")
        return super().resolve_command(ctx, args)

    def has(self, name: str) -> bool:
        return name in self.commands

    def names(self) -> list[str]:
        return list(self.commands)

    def _guess(self, ctx: click.Context, args: list[str]) -> str:
        from muster.lib.nearest import nearest

        word = args[0]
        guess = _synonym(word, self.names()) or nearest(word, self.names(), cutoff=0.65)
        if word in _LISTING:
            objects = listed(ctx.info_name or "")
        elif ctx.parent is None and (guess is None or not args[1:] or args[1] in _LISTING):
            objects = listed(word)
        else:
            objects = None
        if objects:
            return f"; `muster get {objects}` lists them"
        familiar = COMMANDS if ctx.parent is None else OBJECTS if ctx.info_name == "get" else {}
        if word in familiar:
            return f"; use `muster {familiar[word]}`"
        return f"; did you mean {guess!r}?" if guess else ""


def _synonym(word: str, names: Sequence[str]) -> str | None:
    """The command that has another word for the same."""
    return next((name for words in _SYNONYMS if word in words for name in names if name in words), None)


class LazyGroup(Group):
    def __init__(
        self, *args: Any, entries: Mapping[str, Entry], aliases: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries
        self.aliases = aliases or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(self.aliases.get(cmd_name, cmd_name))
        if entry is None:
            return None
        try:
            module = importlib.import_module(entry.module)
        except ModuleNotFoundError as error:
            if error.name != entry.module:
                raise
            raise Failure(
                f"`{ctx.command_path} {cmd_name}` is not part of the client as one file",
                hint="install Muster to have all commands",
            ) from error
        command = getattr(module, entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def has(self, name: str) -> bool:
        return name in self.entries or name in self.aliases

    def names(self) -> list[str]:
        return [*self.entries, *self.aliases]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self.entries.items():
            sections.setdefault(entry.section, []).append((name, entry.help))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(name, help=entry.help) for name, entry in self.entries.items() if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)
