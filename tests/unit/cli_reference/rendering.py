"""The command tree as a page of Markdown: what `--help` says, in the order of `muster --help`."""

import inspect
from collections.abc import Iterator

import click

from muster.cli.lazy_group import LazyGroup

_HEAD = """# Commands

Written from the command tree; `muster COMMAND --help` says the same. Wherever a command takes a JOB, it takes a name
(your newest of that name), an id or the unique beginning of one, or `@last`.

Exit codes: 0 done; 1 the job or the request failed; 2 wrong usage; 124 a wait timed out; 130 interrupted.
What a script reads is on stdout (`-o json`, `-o name`); words for people are on stderr.
"""


def render(root: LazyGroup) -> str:
    context = click.Context(root, info_name="muster")
    lines = [_HEAD, *_contents(root), "\n## Options before the command\n", *_options(root, context)]
    title = ""
    for name, entry in root.entries.items():
        if entry.section != title:
            title = entry.section
            lines.append(f"\n## {title}")
        command = root.get_command(context, name)
        assert command is not None
        lines += _command(command, click.Context(command, context, info_name=name), depth=3)
    return "\n".join(lines) + "\n"


def _contents(root: LazyGroup) -> Iterator[str]:
    sections: dict[str, list[str]] = {}
    for name, entry in root.entries.items():
        sections.setdefault(entry.section, []).append(f"[{name}](#muster-{name})")
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {title} | {', '.join(links)} |" for title, links in sections.items())


def _command(command: click.Command, context: click.Context, depth: int) -> Iterator[str]:
    yield f"\n{'#' * depth} {context.command_path}\n"
    yield from _help(command)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{context.command_path} {usage}\n```\n"
    yield from _options(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _command(child, click.Context(child, context, info_name=name), depth + 1)


def _help(command: click.Command) -> Iterator[str]:
    """Paragraphs are joined; a block that click was told to leave alone (it starts with \\b) is shown as typed."""
    for block in inspect.cleandoc(command.help or "").split("\n\n"):
        lines = block.splitlines()
        if lines and lines[0].strip() == "\b":
            yield from _typed(lines[1:])
        else:
            yield " ".join(lines) + "\n"


def _typed(lines: list[str]) -> Iterator[str]:
    if lines[0].endswith(":"):
        lines = lines[1:]
    yield "```sh"
    yield from inspect.cleandoc("\n".join(lines)).splitlines()
    yield "```\n"


def _options(command: click.Command, context: click.Context) -> list[str]:
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    rows = [record for option in options if (record := option.get_help_record(context))]
    if not rows:
        return []
    table = [f"| `{_cell(option)}` | {_cell(text)} |" for option, text in rows]
    return ["| option | |", "|---|---|", *table]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
