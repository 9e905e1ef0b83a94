"""ConfigMaps that stand in the same file as the job: their values are written into the places where the job names them.

Those of a cluster are not in the file. A job that names one of them is refused at that line.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from muster.wire.documents import Document

_CONTENT = "data of the same file"
"""The key beside the `name` of a ConfigMap with what it contains."""
_REFERENCES = ("configMapRef", "configMapKeyRef", "configMap")


class _Content(dict[str, str]):
    """What a ConfigMap contains. A class of its own, because a file could have a key of that name, too."""


def content_of(reference: Mapping[str, Any]) -> Mapping[str, str] | None:
    """What the ConfigMap contains that is named here; None if it is not in the file."""
    found = reference.get(_CONTENT)
    return found if isinstance(found, _Content) else None


def with_config_maps(document: Document, beside: Sequence[Document]) -> tuple[Document, Collection[str]]:
    """The job with the values of all ConfigMaps that it names, and the names of those that it does name."""
    maps = {name: content for part in beside if (found := _config_map(part.data)) for name, content in [found]}
    used: set[str] = set()
    return Document(_filled(document.data, maps, used), document.lines) if maps else document, used


def _config_map(data: Any) -> tuple[str, _Content] | None:
    if not isinstance(data, dict) or data.get("kind") != "ConfigMap":
        return None
    metadata, content = data.get("metadata"), data.get("data")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    pairs = content.items() if isinstance(content, dict) else ()
    texts = _Content({str(key): str(value) for key, value in pairs})
    return (name, texts) if isinstance(name, str) else None


def _filled(value: Any, maps: Mapping[str, _Content], used: set[str]) -> Any:
    if isinstance(value, list):
        return [_filled(item, maps, used) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {key: _filled(inner, maps, used) for key, inner in value.items()}
    for key in _REFERENCES:
        reference = filled.get(key)
        if isinstance(reference, dict) and isinstance(name := reference.get("name"), str) and name in maps:
            filled[key] = {**reference, _CONTENT: maps[name]}
            used.add(name)
    return filled
