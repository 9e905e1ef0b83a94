"""Where the parts of a translated spec came from, by the paths that they have when the spec is written."""

from collections.abc import Iterator, Mapping
from typing import Any

from muster.domain.specs import WORKER_ROLE
from muster.wire.dialects.translation import Origin
from muster.wire.documents import Path, dotted, enclosing


def origins_as_written(written: Mapping[str, Any], origins: Mapping[str, Origin]) -> dict[str, str]:
    """The line and the key of each value for which they are known. A spec with one role may be written flat, so that
    its paths are shorter than those of the translation."""
    found = {}
    for path in _paths(written, ()):
        text = dotted(path)
        origin = origins.get(text) or (None if "roles" in written else origins.get(f"roles.{WORKER_ROLE}.{text}"))
        if origin is not None and (said := _said(origin)):
            found[text] = said
    return {path: said for path, said in found.items() if not _is_repeated(path, said, found)}


def _paths(value: Any, at: Path) -> Iterator[Path]:
    if not isinstance(value, Mapping):
        return
    for key, inner in value.items():
        yield (*at, key)
        yield from _paths(inner, (*at, key))


def _said(origin: Origin) -> str:
    """What has no key was not written, but follows from the format."""
    return f"line {origin.line}: {origin.path}" if origin.path and origin.line else origin.path


def _is_repeated(path: str, said: str, found: Mapping[str, str]) -> bool:
    """Whether the part around it came from the same place."""
    return any(found.get(around) == said for around in enclosing(path) if around != path)
