"""Reading a YAML or JSON document while remembering the line of every value.

Scalars follow YAML 1.2: `on`, `no` and `02:30:00` are text, not booleans and not base-60 numbers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

import yaml

from muster.domain.errors import Invalid, Problem

Path = tuple[str | int, ...]
MAX_BYTES = 1 << 20
MAX_VALUES = 100_000
MAX_DEPTH = 50
MAX_TEXT = 2 * MAX_BYTES
"""All texts of a document together. Only aliases, which repeat a text, can make it longer than the document."""
MAX_DOCUMENTS = 100
_TOO_MUCH = "the document has too many values or is nested too deeply"
_TOO_LONG = "the document is too long with all that its aliases repeat"

_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

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
_MERGE_TAG = "tag:yaml.org,2002:merge"
_Loader.add_implicit_resolver(_MERGE_TAG, re.compile("^<<$"), ["<"])


def _whole_number(loader: Any, node: yaml.ScalarNode) -> int:
    """YAML 1.2: 010 is ten. YAML 1.1, which PyYAML speaks, reads it as eight and stumbles over 08."""
    text = str(loader.construct_scalar(node))
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)


@dataclass(frozen=True, slots=True)
class Document:
    data: Any
    lines: dict[Path, int] = field(default_factory=dict)
    is_script: bool = field(default=False, kw_only=True)
    """Whether `data` is the text of a script."""
    _by_text: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The same lines by dotted path. It is filled when the first line is asked for, and only then."""

    def line(self, path: str) -> int | None:
        """Returns the line of the value at the dotted path, or of the nearest value around it."""
        if not self._by_text:
            self._by_text.update((dotted(place), line) for place, line in self.lines.items())
        return next((self._by_text[text] for text in enclosing(path) if text in self._by_text), None)


def read_document(text: str, before: int = 0) -> Document:
    """Raises Invalid, with the line, if the text is not a single YAML or JSON document. Its lines are counted after as
    many as stand before it in its file."""
    if len(text) > MAX_BYTES:
        raise Invalid(f"the document is larger than {MAX_BYTES >> 10} KiB")
    try:
        return _read(_json_pairs_joined(text), before)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = Problem("", error.problem or "not YAML", line=before + mark.line + 1 if mark else None)
        raise Invalid("the document is not valid YAML or JSON", problems=(problem,)) from None
    except (yaml.YAMLError, ValueError) as error:
        raise Invalid(f"the document is not valid YAML or JSON: {error}") from None


def read_documents(text: str) -> list[Document]:
    """Yields each document of the text; its lines are counted from the beginning of the text."""
    starts = _starts(text)
    if len(starts) < 2:
        return [read_document(text)]
    if len(starts) > MAX_DOCUMENTS:
        raise Invalid(f"the file has more than {MAX_DOCUMENTS} documents", hint="give one job a file")
    lines = text.splitlines()
    ends = [*starts[1:], None]
    return [read_document("\n".join(lines[start:end]), start) for start, end in zip(starts, ends, strict=True)]


def _starts(text: str) -> list[int]:
    """Returns the line, from 0, at which each document begins. Text that is not YAML has none; reading it reports the
    problem."""
    if "\n---" not in text or len(text) > MAX_BYTES:
        return []
    try:
        events = yaml.parse(text, Loader=_BaseLoader)
        marks = (event.start_mark for event in events if isinstance(event, yaml.DocumentStartEvent))
        return [mark.line for mark in islice(marks, MAX_DOCUMENTS + 1) if mark is not None]
    except yaml.YAMLError:
        return []


def _read(text: str, before: int) -> Document:
    _refuse_deep(text)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        return Document(None) if node is None else _Reader(loader, before).read(node)
    finally:
        loader.dispose()


def _json_pairs_joined(text: str) -> str:
    """Joins the two escapes by which JSON writes a character beyond the first plane: they are the one part of JSON that
    YAML refuses."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    return _PAIR.sub(
        lambda m: f"{m[1]}\\U{0x10000 + ((int(m[2], 16) & 0x3FF) << 10) + (int(m[3], 16) & 0x3FF):08x}", text
    )


def _refuse_deep(text: str) -> None:
    """Runs before nodes are composed: the C composer recurses without a limit, and enough brackets would end the
    process. Every value and every key is an event, and a node of it takes far more memory than its text."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_BaseLoader)):
        if count > 3 * MAX_VALUES:
            raise Invalid(_TOO_MUCH)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise Invalid(_TOO_MUCH)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Turns nodes into plain values. Counts them, because aliases can make a short text enormous."""

    def __init__(self, loader: Any, before: int) -> None:
        self._loader = loader
        self._before = before
        self._lines: dict[Path, int] = {}
        self._problems: list[Problem] = []
        self._count = 0
        self._characters = 0
        self._depth = 0

    def read(self, node: yaml.Node) -> Document:
        self._lines[()] = self._line_of(node)
        data = self._value(node, ())
        if self._problems:
            raise Invalid("the document has repeated keys", problems=tuple(self._problems))
        return Document(data, self._lines)

    def _line_of(self, node: yaml.Node) -> int:
        return int(self._before + node.start_mark.line + 1)

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._count += 1
        self._depth += 1
        if self._count > MAX_VALUES or self._depth > MAX_DEPTH:
            raise Invalid(_TOO_MUCH)
        value = self._read_value(node, path)
        self._depth -= 1
        return value

    def _read_value(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node)

    def _item(self, node: yaml.Node, path: Path) -> Any:
        self._lines[path] = self._line_of(node)
        return self._value(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE_TAG:
                _add_missing(merged, self._merged(value_node, path))
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE_TAG:
                continue
            key = self._key(key_node)
            line = self._line_of(key_node)
            if key in values:
                self._problems.append(Problem(dotted((*path, key)), "is given twice", line=line))
            self._lines[(*path, key)] = line
            values[key] = self._value(value_node, (*path, key))
        return merged | values

    def _merged(self, node: yaml.Node, path: Path) -> dict[str, Any]:
        """Returns what `<<` merges in. The mapping's own keys win over it, and an earlier item of a list over a later
        one."""
        if isinstance(node, yaml.SequenceNode):
            merged: dict[str, Any] = {}
            for child in node.value:
                _add_missing(merged, self._merged(child, path))
            return merged
        found = self._value(node, path)
        if not isinstance(found, dict):
            raise yaml.constructor.ConstructorError(None, None, "<< takes a mapping or several", node.start_mark)
        return found

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key must be a plain word", node.start_mark)
        return str(self._scalar(node))

    def _scalar(self, node: yaml.Node) -> Any:
        self._characters += len(node.value)
        if self._characters > MAX_TEXT:
            raise Invalid(_TOO_LONG)
        try:
            return self._loader.construct_object(node)
        except (ValueError, LookupError, AttributeError):
            # What PyYAML's constructors raise for a tag that its text does not fit, such as `!!bool perhaps`.
            problem = f"{str(node.value)[:40]!r} is not a valid {node.tag.rsplit(':', 1)[-1]}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


def _add_missing(merged: dict[str, Any], more: dict[str, Any]) -> None:
    """Adds in place: a copy for each of many merged mappings would take quadratic time."""
    for key, value in more.items():
        merged.setdefault(key, value)


def refuse_too_much(data: Any) -> None:
    """Raises Invalid for data with more values or a deeper nesting than a document may have."""
    waiting, count = [(data, 1)], 0
    while waiting:
        value, depth = waiting.pop()
        count += 1
        if count > MAX_VALUES or depth > MAX_DEPTH:
            raise Invalid(_TOO_MUCH)
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        waiting += [(one, depth + 1) for one in inner]


def enclosing(path: str) -> Iterator[str]:
    """Yields the dotted path, and then the path of each value around it, up to the whole document. A key may contain
    dots, so that a path may seem to have more parts than a document may be deep; those parts are skipped."""
    for _ in range(2 * MAX_DEPTH):
        yield path
        if not path:
            return
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    yield ""


def dotted(path: Path) -> str:
    """Writes a path as people read it: `roles.worker.command[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
