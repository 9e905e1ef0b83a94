"""The `secrets` of an OpenPAI job, and the credentials of its registry.

A value is never part of the spec. The job refers to it by a name, under which the server keeps it sealed, and its tasks
get it in a variable, from which they fill the references in their commands. No message repeats a value.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from muster.wire.dialects.openpai.pai_values import reached, text_of
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path, dotted

VARIABLES = "PAI_SECRET_"
_PREFIX = "openpai."
REGISTRY = f"{_PREFIX}registry"
_DOCKER_HUB = "https://index.docker.io/v1/"
"""What docker and podman call Docker Hub in their files of credentials."""
_REFERENCE = re.compile(r"<%\s*\$secrets((?:\.[^.\[\]\s%]+|\[\d+\])+)\s*%>")
_STEP = re.compile(r"\.([^.\[\]\s%]+)|\[(\d+)\]")


class PaiSecrets:
    def __init__(self, into: Translator, given: Any) -> None:
        self._into = into
        self._values: Any = given if isinstance(given, dict) else {}
        self._used: dict[str, str] = {}
        if given is not None and not isinstance(given, dict):
            into.refuse(("secrets",), "is not a mapping", "give each secret a name")

    def variable(self, steps: list[str | int]) -> str | None:
        """The variable with the secret, which becomes one of the job's. None if the file has no such secret."""
        value = self._value(steps)
        if value is None:
            return None
        path = dotted(tuple(steps))
        if path not in self._used:
            self._used[path] = f"{VARIABLES}{len(self._used) + 1}"
            if value:  # an empty one is no secret, and the server would not keep it
                name = f"{_PREFIX}{len(self._used)}-{re.sub('[^A-Za-z0-9]+', '-', path)}"[:45].strip("-")
                self._into.carry(name, value)
                self._into.append(("secrets",), {"name": name, "env": self._used[path]}, ("secrets", steps[0]))
        return self._used[path]

    def reference(self, steps: list[str | int]) -> str:
        """The reference as it stays in the command, always written in the same way."""
        return f"<% $secrets.{dotted(tuple(steps))} %>"

    def registry(self, auth: Any, source: Path) -> None:
        """Carries the credentials as docker keeps them, and names them as those of the image."""
        if not isinstance(auth, dict):
            self._into.refuse(source, "is not a mapping", "username, password and registryuri")
            return
        for key in auth:
            if key not in ("username", "password", "registryuri"):
                self._into.refuse((*source, key), "unknown key", "known keys: username, password, registryuri")
        user, password = (self._filled(auth.get(key), (*source, key)) for key in ("username", "password"))
        where = self._filled(auth.get("registryuri") or _DOCKER_HUB, (*source, "registryuri"))
        if user is None or password is None or where is None:
            return
        login = b64encode(f"{user}:{password}".encode()).decode()
        self._into.carry(REGISTRY, json.dumps({"auths": {_registry_name(where): {"auth": login}}}))
        hint = "--set runtime.pullSecret=NAME names a secret of yours, and null pulls without one"
        self._into.put(("runtime", "pullSecret"), REGISTRY, source, hint)

    def _filled(self, given: Any, source: Path) -> str | None:
        if given is None:
            self._into.refuse(source, "is required", settled_by=("runtime", "pullSecret"))
            return None
        missing: list[str] = []

        def value(match: re.Match[str]) -> str:
            found = self._value([key or int(place) for key, place in _STEP.findall(match[1])])
            self._into.spend(len(found or ""), source)
            missing.extend([match[0]] if found is None else [])
            return found or ""

        text = _REFERENCE.sub(value, str(given))
        for reference in missing:
            self._into.refuse(source, f"{reference} refers to a secret that is not given", "add it to `secrets`")
        return None if missing else text

    def _value(self, steps: list[str | int]) -> str | None:
        return text_of(reached(self._values, steps)) if steps else None


def _registry_name(written: str) -> str:
    """The registry's name in a file of credentials, which has no scheme and no path of the API, but for Docker Hub."""
    host = re.sub(r"^https?://", "", written).rstrip("/")
    host = re.sub(r"/v[12]$", "", host)
    return _DOCKER_HUB if host in ("docker.io", "index.docker.io", "registry-1.docker.io") else host


def fill_code(references: Mapping[str, str]) -> list[str]:
    """The lines of bash that replace the references in the words of `_pai` by the values, which no program's arguments
    contain. Newer shells would take a `&` in a value for the text that it replaces."""
    if not references:
        return [f'unset "${{!{VARIABLES}@}}"']
    lines = ["shopt -u patsub_replacement 2>/dev/null || true", 'for _i in "${!_pai[@]}"; do']
    for reference, variable in references.items():
        escaped = re.sub(r'([\\$`"])', r"\\\1", reference)
        lines.append(f'  _text="{escaped}" _value=${{{variable}-}}; _pai[_i]=${{_pai[_i]//"$_text"/$_value}}')
    return [*lines, "done", f'unset _i _text _value "${{!{VARIABLES}@}}"']
