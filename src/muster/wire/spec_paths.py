"""A spec as a flat table of paths and values, and how two such tables differ."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def flat(document: Mapping[str, Any]) -> dict[str, Any]:
    """The values by path, such as `roles.worker.resources.cpu` and `mounts[0].target`. A list of plain values is one
    value, because a command is read as a whole."""
    return dict(_leaves("", document))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(_below(path, str(key)), inner)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        for place, item in enumerate(value):
            yield from _leaves(f"{path}[{place}]", item)
    else:
        yield path, value


def _below(path: str, key: str) -> str:
    name = key if _PLAIN.fullmatch(key) else f'["{key}"]'
    return f"{path}.{name}" if path and not name.startswith("[") else f"{path}{name}"


def differences(mine: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The paths whose values differ, in the order of `mine`, each with both values. None stands for none."""
    here, there = flat(mine), flat(other)
    paths = dict.fromkeys([*here, *there])
    return [(path, here.get(path), there.get(path)) for path in paths if here.get(path) != there.get(path)]
