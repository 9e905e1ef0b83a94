"""Writes a spec as YAML that people read: comments at values, and texts of several lines as they are."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLAIN = re.compile(r"(?!\.[0-9])[A-Za-z_./][A-Za-z0-9_./-]*")
"""Texts that need no quotes. What begins like .5 might be a number."""
_NOT_TEXT = re.compile(r"(?i)true|false|null|~|yes|no|on|off|\.inf|\.nan|y|n")
_UNPRINTABLE = re.compile(
    r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\x85\u2028\u2029]"
)
_HIDDEN = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that would show another text on a terminal than the one that is there."""


def annotated(document: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """`comments` are by dotted path."""
    return "".join(_mapping(document, comments, "", 0))


def _mapping(value: Mapping[str, Any], comments: Mapping[str, str], path: str, depth: int) -> Iterator[str]:
    for key, inner in value.items():
        place = f"{path}.{key}" if path else str(key)
        said = f"  # {_one_line(comments[place])}" if place in comments else ""
        yield from _entry("  " * depth + f"{_scalar(str(key))}:", inner, comments, place, depth, said)


def _entry(head: str, value: Any, comments: Mapping[str, str], path: str, depth: int, said: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield f"{head}{said}\n"
        yield from _mapping(value, comments, path, depth + 1)
    elif isinstance(value, list) and value:
        yield f"{head}{said}\n"
        for item in value:
            yield from _item(item, depth)
    elif isinstance(value, str) and "\n" in value and not _UNPRINTABLE.search(value) and not _HIDDEN.search(value):
        yield from _block(head, value, depth + 1, said)
    else:
        yield f"{head} {_scalar(value)}{said}\n"


def _item(value: Any, depth: int) -> Iterator[str]:
    """An item of a list. A mapping in one is short, and written in one line."""
    head = "  " * depth + "-"
    if isinstance(value, Mapping | list):
        yield f"{head} {_json(value)}\n"
    else:
        yield from _entry(head, value, {}, "", depth)


def _block(head: str, text: str, depth: int, said: str) -> Iterator[str]:
    """A text of several lines, whose end is kept as it is."""
    content = text.rstrip("\n")
    ends = len(text) - len(content)
    if not content:
        yield f"{head} {_json(text)}{said}\n"
        return
    indent = "2" if content[0] in " \n\t" else ""
    kept = "-" if ends == 0 else "" if ends == 1 else "+"
    yield f"{head} |{indent}{kept}{said}\n"
    for line in [*content.split("\n"), *([""] * (ends - 1))]:
        yield "  " * depth + line + "\n" if line else "\n"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
        return value
    return _json(value)


def _json(value: Any) -> str:
    """JSON is YAML, but for a few characters that YAML wants to be escaped, and those that nobody sees."""
    text = json.dumps(value, ensure_ascii=False)
    return _HIDDEN.sub(_escaped, _UNPRINTABLE.sub(_escaped, text))


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\U{number:08x}" if number > 0xFFFF else f"\\u{number:04x}"


def _one_line(text: str) -> str:
    return _HIDDEN.sub("?", _UNPRINTABLE.sub("?", " ".join(text.split())))
