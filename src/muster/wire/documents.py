"""Reading a YAML or JSON document while remembering the line of every value.

Scalars follow YAML 1.2: `on`, `no` and `02:30:00` are text, not booleans and not base-60 numbers.
"""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

import yaml

from muster.domain.errors import Invalid, Problem

Path = tuple[str | int, ...]
MAX_BYTES = 1 << 20
MAX_VALUES = 100_000
MAX_DEPTH = 50

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BaseLoader):  # type: ignore[misc]
    """SafeLoader with the YAML 1.2 core schema."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf)|\.(nan|NaN)", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile("^$"), [""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile("^<<$"), ["<"])


@dataclass(frozen=True, slots=True)
class Document:
    data: Any
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int | None:
        """The line of the value, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read_document(text: str) -> Document:
    """Raises Invalid with the line for text that is no single YAML or JSON document."""
    if len(text) > MAX_BYTES:
        raise Invalid(f"the document is larger than {MAX_BYTES >> 10} KiB")
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        return Document(None) if node is None else _Reader(loader).read(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = Problem("", error.problem or "not YAML", line=mark.line + 1 if mark else None)
        raise Invalid("the document is not valid YAML or JSON", problems=(problem,)) from None
    except (yaml.YAMLError, ValueError) as error:
        raise Invalid(f"the document is not valid YAML or JSON: {error}") from None
    finally:
        loader.dispose()


class _Reader:
    """Turns nodes into plain values. Counts them, because aliases can make a short text enormous."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._lines: dict[Path, int] = {}
        self._problems: list[Problem] = []
        self._count = 0

    def read(self, node: yaml.Node) -> Document:
        self._lines[()] = node.start_mark.line + 1
        data = self._value(node, ())
        if self._problems:
            raise Invalid("the document has repeated keys", problems=tuple(self._problems))
        return Document(data, self._lines)

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._count += 1
        if self._count > MAX_VALUES or len(path) > MAX_DEPTH:
            raise Invalid("the document has too many values or is nested too deeply")
        if isinstance(node, yaml.MappingNode):
            self._loader.flatten_mapping(node)
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._loader.construct_object(node)

    def _item(self, node: yaml.Node, path: Path) -> Any:
        self._lines[path] = node.start_mark.line + 1
        return self._value(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(self._loader.construct_object(key_node))
            line = key_node.start_mark.line + 1
            if key in values:
                self._problems.append(Problem(dotted((*path, key)), "is given twice", line=line))
            self._lines[(*path, key)] = line
            values[key] = self._value(value_node, (*path, key))
        return values


def dotted(path: Path) -> str:
    """`roles.worker.command[0]`: how a path is shown to people."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
