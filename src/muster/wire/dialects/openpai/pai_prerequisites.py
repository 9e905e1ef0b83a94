"""The `prerequisites` of an OpenPAI job: images, and data, scripts and outputs that only fill templates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from muster.wire.dialects.openpai.pai_templates import PREREQUISITES
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

IMAGE = "dockerimage"
PLUGIN_PREFIX = "com.microsoft.pai.runtimeplugin"


@dataclass(frozen=True, slots=True)
class Prerequisite:
    given: Mapping[str, Any]
    at: Path


class Prerequisites:
    def __init__(self, into: Translator, given: Any) -> None:
        self._into = into
        self._found: dict[tuple[str, str], Prerequisite] = {}
        for place, item in enumerate(into.listed(given, ("prerequisites",))):
            self._add(into.mapping(item, ("prerequisites", place)), ("prerequisites", place))

    def image(self, role: Mapping[str, Any], at: Path) -> Prerequisite | None:
        return self._named(IMAGE, role.get("dockerImage"), (*at, "dockerImage"), settled_by=("runtime", "image"))

    def templates(self, role: Mapping[str, Any], at: Path) -> dict[str, Mapping[str, Any]]:
        """What the role's references to a kind of prerequisite mean."""
        found = ((kind, self._named(kind, role.get(kind), (*at, kind))) for kind in PREREQUISITES)
        return {kind: one.given for kind, one in found if one is not None}

    def with_plugins(self, role: Mapping[str, Any], at: Path) -> Iterator[Prerequisite]:
        """Those that the role lists and that a plugin prepares, in the order of that list."""
        at = (*at, "prerequisites")
        for place, name in enumerate(self._into.listed(role.get("prerequisites"), at)):
            named = [one for (_, known), one in self._found.items() if known == str(name)]
            if not named:
                self._into.refuse((*at, place), f"there is no prerequisite {name!r}")
            yield from (one for one in named[-1:] if str(one.given.get("plugin", "")).startswith(PLUGIN_PREFIX))

    def _add(self, item: dict[str, Any], at: Path) -> None:
        kind, name = str(item.get("type")), str(item.get("name"))
        if kind not in (IMAGE, *PREREQUISITES):
            known = ", ".join((IMAGE, *PREREQUISITES))
            self._into.refuse((*at, "type"), f"OpenPAI has no prerequisites of type {kind!r}", f"one of {known}")
        self._check_uri(kind, item, at)
        if (kind, name) in self._found:
            self._into.refuse(at, f"there are two {kind} prerequisites {name!r}", "give each a name of its own")
        if item.get("callbacks") and not item.get("plugin"):
            hint = f"plugin: {PLUGIN_PREFIX}.cmd runs them"
            self._into.warn((*at, "callbacks"), "have no effect without a plugin", hint)
        self._found[kind, name] = Prerequisite(item, at)

    def _check_uri(self, kind: str, item: dict[str, Any], at: Path) -> None:
        uri = item.get("uri")
        if kind == IMAGE and not isinstance(uri, str):
            self._into.refuse((*at, "uri"), "is required", "the name of an image", settled_by=("runtime", "image"))
        elif uri is not None and not isinstance(uri, list if kind == "data" else str):
            self._into.refuse((*at, "uri"), f"is {uri!r}"[:200], "a list of texts" if kind == "data" else "one text")

    def _named(self, kind: str, name: Any, at: Path, settled_by: Path = ()) -> Prerequisite | None:
        if name is None:
            return None
        found = self._found.get((kind, str(name)))
        if found is None:
            message = f"there is no {kind} {name!r} among the prerequisites"
            self._into.refuse(at, message, settled_by=settled_by)
        return found
