"""Types of options that click does not provide."""

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from muster.lib.quantities import parse_bytes, parse_cpu, parse_duration


class Parsed(click.ParamType[Any]):
    """An option parsed by a function that raises ValueError. `words` are offered as completions, also after a comma."""

    def __init__(self, name: str, parse: Callable[[str], Any], words: Sequence[str] = ()) -> None:
        self.name = name
        self._parse = parse
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, begun = incomplete.rpartition(",")
        return [CompletionItem(before + comma + word) for word in self._words if word.startswith(begun)]


def _checked(name: str, parse: Callable[[str], Any]) -> Parsed:
    """An option that the server reads. It is checked here, so that wrong usage is known before anything is sent."""

    def read(text: str) -> str:
        try:
            parse(text)
        except ValueError as error:
            raise ValueError(f"{text!r} cannot be read: {error}") from None
        return text

    return Parsed(name, read)


CORES = _checked("cores", parse_cpu)
SIZE = _checked("size", parse_bytes)
DURATION = _checked("duration", parse_duration)
