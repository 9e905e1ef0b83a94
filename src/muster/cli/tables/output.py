"""Prints results in the format that `-o` selects. JSON and YAML show the objects as the server sent them."""

import json
import re
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from muster.cli.tables.text_tables import Column, render
from muster.cli.terminal import echo, one_line

_HOSTILE = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class ServerObject(Protocol):
    """An object that came from the server."""

    @property
    def raw(self) -> Any: ...


Item = TypeVar("Item", bound=ServerObject)


def print_list(items: Sequence[Item], columns: Sequence[Column[Item]], output: str, *, name: str = "name") -> None:
    """Prints a list. `name` is the key that `-o name` prints."""
    if output == "name":
        _print_lines(str(item.raw[name]) for item in items)
    elif output in ("json", "yaml"):
        print_document({"items": [item.raw for item in items]}, output)
    else:
        _print_lines(table_lines(items, columns, output))


def table_lines(items: Sequence[Item], columns: Sequence[Column[Item]], output: str) -> list[str]:
    """The lines of a table. On a terminal, `table` is cut to the width; `wide` and pipes get all columns in full."""
    chosen = [column for column in columns if output == "wide" or not column.wide]
    width = shutil.get_terminal_size().columns if output == "table" and sys.stdout.isatty() else None
    return render(chosen, items, width=width)


def print_document(document: Any, output: str) -> None:
    if output == "yaml":
        echo(yaml_text(document), nl=False)
    else:
        echo(_HOSTILE.sub(_json_escape, json.dumps(document, indent=2, ensure_ascii=False)))


def _json_escape(match: re.Match[str]) -> str:
    """Escapes what JSON need not escape and a terminal obeys. The document stays the same."""
    return f"\\u{ord(match[0]):04x}"


def print_pairs(pairs: Sequence[tuple[str, Any]]) -> None:
    """Prints aligned `Name:   value` lines, each on one line whatever is in the value. Empty values are left out."""
    kept = [(name, value) for name, value in pairs if value not in (None, "", (), [], {})]
    width = max((len(name) for name, _ in kept), default=0) + 1
    _print_lines(f"{name + ':':<{width}}  {one_line(str(value))}" for name, value in kept)


def _print_lines(lines: Any) -> None:
    text = "\n".join(lines)
    if text:
        echo(text)


def yaml_text(document: Any) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=True))
