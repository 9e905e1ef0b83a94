"""Commands and options of `muster` that the pages show exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from muster.cli.main import cli
from tests.unit.docs.pages import ROOT, blocks, inline_code, pages

pytestmark = pytest.mark.fast

_START = re.compile(r"(?:^|[\s(])muster (?=[a-z-])")
_END = re.compile(r"\s--\s|\s-- |[|;&<>()]|…|\.\.\.")
"""What follows is the job's own command, another command of the shell, or left out."""


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    assert [problem for shown in _shown(page) if (problem := _problem(shown))] == []


def test_an_unknown_command_or_option_is_found() -> None:
    assert _problem(["get", "jobz"]) == "muster get has no command jobz"
    assert _problem(["get", "jobs", "--mien"]) == "muster get jobs has no option --mien"
    assert _problem(["submit", "job.yaml", "--set", "replicas=4", "-o", "json"]) is None


def _shown(page: Path) -> Iterator[list[str]]:
    """The words of each command after `muster`, up to the job's own command or the next command of a pipe."""
    lines = [line for kind in ("console", "sh") for block in blocks(page, kind) for line in block.splitlines()]
    typed = [line for line in lines if line.startswith(("$ ", "muster "))]
    for text in [*typed, *(code for code in inline_code(page) if code.startswith("muster "))]:
        for start in _START.finditer(text):
            rest = _END.split(re.sub(r"\s#.*$", "", text[start.end() :]), maxsplit=1)[0]
            yield _words(rest.translate({ord("["): None, ord("]"): None}))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote that a pipe inside it has cut off
        return text.split()


def _problem(words: list[str]) -> str | None:
    command: click.Command = cli
    context = click.Context(cli, info_name="muster")
    rest = iter(words)
    for word in rest:
        if word.startswith("-") and word != "-":
            name, has_value, _ = word.partition("=")
            option = _options(command, context).get(name)
            if option is None and not _is_combined(word) and not _passes_on(command):
                return f"{context.command_path} has no option {word}"
            if option is not None and not option.is_flag and not has_value:
                next(rest, None)
        elif isinstance(command, click.Group):
            found = command.get_command(context, word)
            if found is None:
                return None if command.invoke_without_command else f"{context.command_path} has no command {word}"
            command, context = found, click.Context(found, context, info_name=word)
    return None


def _options(command: click.Command, context: click.Context) -> dict[str, click.Option]:
    options = [param for param in command.get_params(context) if isinstance(param, click.Option)]
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}


def _is_combined(word: str) -> bool:
    """Whether short options are written together."""
    return not word.startswith("--") and len(word) > 2


def _passes_on(command: click.Command) -> bool:
    """Whether the command hands options that it does not know to another program."""
    return bool(command.context_settings.get("ignore_unknown_options"))
