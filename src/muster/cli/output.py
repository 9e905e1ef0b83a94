"""Printing what was asked for in the shape that was asked for. JSON and YAML are the server's own objects."""

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import click

from muster.cli.tables import Column, render


class Seen(Protocol):
    """Anything that came from the server."""

    @property
    def raw(self) -> Any: ...


Item = TypeVar("Item", bound=Seen)


def print_list(items: Sequence[Item], columns: Sequence[Column[Item]], output: str, *, name: str = "name") -> None:
    """`name` is the key that `-o name` prints."""
    if output == "name":
        _print_lines(str(item.raw[name]) for item in items)
    elif output in ("json", "yaml"):
        print_document({"items": [item.raw for item in items]}, output)
    else:
        _print_lines(table_lines(items, columns, output))


def table_lines(items: Sequence[Item], columns: Sequence[Column[Item]], output: str) -> list[str]:
    """`table` on a terminal is cut to its width; `wide` and a pipe get everything."""
    chosen = [column for column in columns if output == "wide" or not column.wide]
    width = shutil.get_terminal_size().columns if output == "table" and sys.stdout.isatty() else None
    return render(chosen, items, width=width)


def print_document(document: Any, output: str) -> None:
    if output == "yaml":
        click.echo(_yaml(document), nl=False)
    else:
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def print_pairs(pairs: Sequence[tuple[str, Any]]) -> None:
    """`Name:   value` lines, aligned; what is empty is left out."""
    kept = [(name, value) for name, value in pairs if value not in (None, "", (), [], {})]
    width = max((len(name) for name, _ in kept), default=0) + 1
    _print_lines(f"{name + ':':<{width}}  {value}" for name, value in kept)


def _print_lines(lines: Any) -> None:
    text = "\n".join(lines)
    if text:
        click.echo(text)


def _yaml(document: Any) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=True))
