"""A click group that imports its commands only when they are called. Names and short help texts are in a table, so that
`--help` and completion import no command.
"""

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """`module` contains the command under the name `attribute`."""

    module: str
    help: str
    section: str = "Commands"
    attribute: str = "command"


class LazyGroup(click.Group):
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
        command = getattr(importlib.import_module(entry.module), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.entries and args[0] not in self.aliases:
            ctx.fail(f"there is no command {args[0]!r}{self._guess(args[0])}")
        return super().resolve_command(ctx, args)

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

    def _guess(self, word: str) -> str:
        from muster.lib.nearest import nearest

        guess = nearest(word, [*self.entries, *self.aliases])
        return f"; did you mean {guess!r}?" if guess else ""
