"""Types of options that click does not provide."""

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from muster.client.submitting import is_on_cluster


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


class PackageType(click.Path):
    """A folder here, or a package that lies on a cluster."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, str) and is_on_cluster(value) else super().convert(value, param, ctx)
