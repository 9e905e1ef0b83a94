"""Options of the old client: each long one with underscores, as it was, and with dashes; and those for the trainers."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from muster.lib.nearest import nearest

Command = TypeVar("Command", bound=Callable[..., Any])
_FLAG = re.compile(r"--([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_ALIKE = 0.85


def spelled(short: str, name: str, **settings: Any) -> Callable[[Command], Command]:
    """One option in all its spellings."""
    return click.option(*filter(None, (short, *_spellings(name))), name, **settings)


def key_options(keys: Iterable[str], help_text: str) -> Callable[[Command], Command]:
    """Options that nobody needs to see one by one. `--help` names them in a paragraph."""

    def decorate(function: Command) -> Command:
        for key in keys:
            function = click.option(*_spellings(key), key, hidden=True, help=help_text)(function)
        return function

    return decorate


def read_flags(words: Sequence[str], known: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The flags of `paddle train` among the words that are no options here, and which of them look like a mistyped
    option. A flag without a value is true."""
    flags: dict[str, str] = {}
    doubtful: list[str] = []
    place = 0
    while place < len(words):
        found = _FLAG.fullmatch(words[place])
        if found is None:
            raise click.UsageError(f"{words[place]!r} is no option, and follows none: what does it belong to?")
        place += 1
        name, value = found[1].replace("-", "_"), found[2]
        if value is None and place < len(words) and not words[place].startswith("--"):
            value = words[place]
            place += 1
        flags[name] = "true" if value is None else value
        if guess := nearest(name, list(known), cutoff=_ALIKE):
            doubtful.append(f"--{name} is passed on to paddle train; did you mean --{guess}?")
    return flags, doubtful


def _spellings(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((f"--{name}", f"--{name.replace('_', '-')}")))
