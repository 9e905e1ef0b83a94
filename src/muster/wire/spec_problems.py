"""Turns what the spec's models refuse into problems for people, one for each path."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from muster.domain import extended_resources
from muster.domain.errors import Problem
from muster.lib.counting import counted
from muster.wire.documents import Path, dotted
from muster.wire.key_hints import meant
from muster.wire.spec_schema import (
    MAX_TEXT,
    NAME_PATTERN,
    ROLE_PATTERN,
    TEXT_HINT,
    VARIABLE_PATTERN,
    JobSpecIn,
)

UNKNOWN_KEY = "unknown key"
_KNOWN_KEYS = "known keys: "
MAX_PROBLEMS = 100
"""The most problems that are reported of one file or request."""
MAX_KEYS = 20_000
"""The most keys that a mapping of a spec has: each that is unknown would be a problem, and cost time and memory."""
_UNION_MARKS = re.compile(r"^(str|int|float|bool|constrained-str|SpanIn|list\[.*\]|function-.*|\[key\])$")
_PATTERN_HINTS = {
    NAME_PATTERN: "letters, digits, '.', '_' and '-', at most 63, a letter or digit at both ends",
    ROLE_PATTERN: "letters, digits, '_' and '-', at most 32, a letter first",
    VARIABLE_PATTERN: "letters, digits and '_', no digit first",
    extended_resources.PATTERN: f"expected {extended_resources.ACCEPTED}",
}
_TYPES = {
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
}


def largest_mapping(data: Any) -> int:
    """The number of keys of the largest mapping in a document. Parts that are used several times are counted once."""
    most, seen, pending = 0, set[int](), [data]
    while pending:
        part = pending.pop()
        if not isinstance(part, dict | list) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            most = max(most, len(part))
        pending.extend(part.values() if isinstance(part, dict) else part)
    return most


_FOLLOWS = "default_factory_not_called"
"""Said of a key that is not given and whose default depends on others, if one of these is wrong."""


def problems_of(error: ValidationError, data: Mapping[str, Any]) -> "Problems":
    """A value that may have several types is refused once by each of them. That is one problem here, and if one type
    found the mistake further inside, the others are left out."""
    by_path: dict[Path, list[Mapping[str, Any]]] = {}
    for item in error.errors(include_url=False):
        if item["type"] == _FOLLOWS:
            continue
        by_path.setdefault(_path(item["loc"], data), []).append(item)
    inside = {path[:depth] for path in by_path for depth in range(len(path))}
    kept = [(path, items) for path, items in by_path.items() if path not in inside or not _by_type(items)]
    return Problems(_told_once([_problem(path, items) for path, items in kept[:MAX_PROBLEMS]]), len(kept))


def _told_once(problems: Sequence[Problem]) -> list[Problem]:
    """The problems, with the list of all keys only where it is told for the first time."""
    told: set[str] = set()
    shorter = []
    for problem in problems:
        is_known = problem.hint.startswith(_KNOWN_KEYS) and problem.hint in told
        told.add(problem.hint)
        shorter.append(replace(problem, hint="") if is_known else problem)
    return shorter


@dataclass(frozen=True, slots=True)
class Problems:
    """The first problems, and how many there are in all. A problem costs a search for the nearest known key, so those
    that nobody would read are only counted."""

    first: list[Problem]
    count: int


def _by_type(items: Sequence[Mapping[str, Any]]) -> bool:
    return all(item["type"] in _TYPES for item in items)


def _path(location: Sequence[str | int], data: Any) -> Path:
    """Returns the path in what was written: without the names of union members that pydantic inserts, and without the
    list and the mapping that a short form stands for."""
    path: list[str | int] = []
    for part in location:
        if isinstance(data, str | int | float) or (isinstance(data, Mapping) and isinstance(part, int)):
            continue
        if isinstance(data, Mapping):
            is_there = part in data
        else:
            is_there = isinstance(part, int) and isinstance(data, list) and part < len(data)
        if not is_there and isinstance(part, str) and _UNION_MARKS.match(part):
            continue
        path.append(part)
        data = data[part] if is_there else None
    return tuple(path)


def _problem(path: Path, items: list[Mapping[str, Any]]) -> Problem:
    types = [_TYPES[item["type"]] for item in items if item["type"] in _TYPES]
    if _by_type(items):
        return Problem(dotted(path), f"is {_shown(items[0]['input'])}", f"expected {' or '.join(dict.fromkeys(types))}")
    return _of_one(path, next(item for item in items if item["type"] not in _TYPES))


def _shown(value: Any) -> str:
    """The value as a person would write it in YAML, where Python has another word for it."""
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)[:200]


def _of_one(path: Path, error: Mapping[str, Any]) -> Problem:
    kind, context, given = error["type"], error.get("ctx", {}), _shown(error["input"])
    if kind == "extra_forbidden":
        known = keys_at(path[:-1])
        guess = meant(path, known)
        hint = f"did you mean {guess}?" if guess else f"{_KNOWN_KEYS}{', '.join(known)}"
        return Problem(dotted(path), UNKNOWN_KEY, hint)
    if kind == "missing":
        return Problem(dotted(path), "is required")
    if kind in ("enum", "literal_error"):
        return Problem(dotted(path), f"is {given}", f"one of {context['expected']}")
    if kind == "string_pattern_mismatch" and context["pattern"] not in _PATTERN_HINTS:
        return Problem(dotted(path), f"is {given}", f"must match {context['pattern']}")
    if kind == "string_pattern_mismatch":
        return Problem(dotted(path), f"{given} is not a valid name", _PATTERN_HINTS[context["pattern"]])
    if kind == "value_error":
        return Problem(dotted(path), f"{given} cannot be read", str(context["error"]))
    if kind in ("string_too_long", "too_long") and isinstance(error["input"], str):
        longest = context["max_length"]
        hint = TEXT_HINT if longest == MAX_TEXT else f"at most {longest} characters"
        return Problem(dotted(path), f"is {len(error['input'])} characters long", hint)
    if kind == "too_short":
        return Problem(dotted(path), f"is {given}", f"at least {counted(context['min_length'], 'item')}")
    if kind == "too_long":
        return Problem(dotted(path), f"has more than {counted(context['max_length'], 'item')}")
    if kind in ("model_type", "dict_type"):
        return Problem(dotted(path), f"is {given}", _mapping_hint(path))
    message = str(error["msg"])
    return Problem(dotted(path), message[0].lower() + message[1:], f"got {given}")


def _mapping_hint(path: Path) -> str:
    if path[-1] in ("env", "params", "labels"):
        return "a mapping of names to values"
    if path[-1] == "devices":
        return "a mapping of resources to numbers, such as {xilinx.com/fpga: 1}"
    if path == ("roles",):
        return "a mapping of role names to roles"
    return f"a mapping with {', '.join(keys_at(path))}"


def keys_at(path: Path) -> list[str]:
    """Returns the keys that the schema knows at this path, or else those of the part around it."""
    model: type[BaseModel] = JobSpecIn
    is_name = False
    for part in path:
        fields = {_key(name, field): field for name, field in model.model_fields.items()}
        if is_name or part not in fields:
            is_name = False
            continue
        annotation = fields[str(part)].annotation
        inner = _model_in(annotation)
        if inner is not None:
            model, is_name = inner, _has_names(annotation)
    return [_key(name, field) for name, field in model.model_fields.items()]


def _key(name: str, field: FieldInfo) -> str:
    return field.alias or name


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model of a part of the spec, also of the items of a list or the values of a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _model_in(inner))), None)


def _has_names(annotation: Any) -> bool:
    """Whether users choose the keys, as those of `roles`."""
    return get_origin(annotation) is dict or any(_has_names(inner) for inner in get_args(annotation))
