"""The variables of a container: which of them are known now, which only the task knows, and which are secrets.

Whose value counts is as in Kubernetes: a later variable of `env` replaces an earlier one of the same name, `env`
replaces what `envFrom` brings, and what the original's controller appends to `env` replaces what the file says.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.launch.muster_variables import variable_name
from muster.wire.dialects.kubernetes.config_maps import content_of
from muster.wire.dialects.kubernetes.references import (
    Lookup,
    Part,
    Reference,
    expanded,
    is_literal,
    literal,
    shell_word,
)
from muster.wire.dialects.kubernetes.task_scripts import nth_host
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_METADATA = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_INDEX, _JOB, _ROLE = '"$MUSTER_ROLE_INDEX"', '"$MUSTER_JOB_NAME"', '"$MUSTER_ROLE"'
_LABELS = {
    **dict.fromkeys(("training.kubeflow.org/replica-index", "volcano.sh/task-index"), _INDEX),
    **dict.fromkeys(("batch.kubernetes.io/job-completion-index", "paddle-res-index"), _INDEX),
    **dict.fromkeys(("training.kubeflow.org/job-name", "volcano.sh/job-name"), _JOB),
    **dict.fromkeys(("batch.kubernetes.io/job-name", "job-name"), _JOB),
    **dict.fromkeys(("training.kubeflow.org/replica-type", "volcano.sh/task-spec", "paddle-res-type"), _ROLE),
}
"""Labels and annotations that the original's controllers give a pod, as words of a shell."""


@dataclass(frozen=True, slots=True)
class Given:
    """Variables that the original gives each container, beside those of the file."""

    appended: frozenset[str] = frozenset()
    """They are added to `env`: they replace what the file says, and the values in `env` cannot refer to them."""
    offered: frozenset[str] = frozenset()
    """They come by `envFrom`: a variable of the same name in the file replaces them."""
    exports: Mapping[str, str] = field(default_factory=dict)
    """Those among them that the task's script has to set, as words of a shell."""


class PodVariables:
    """Reads `env` in its order. Afterwards `literals`, `exports` and `secrets` hold the variables of the file."""

    def __init__(self, into: Translator, role: str, given: Given, namespace: str) -> None:
        self.literals: dict[str, tuple[str, Path]] = {}
        self.exports: dict[str, str] = {}
        self.secrets: dict[str, tuple[str, Path]] = {}
        self._into = into
        self._role = role
        self._given = given
        self._namespace = namespace

    def read_from(self, sources: Sequence[Any], at: Path) -> None:
        """Reads `envFrom`, as far as the file has what it names. The values are taken as they are."""
        for place, item in enumerate(sources):
            source: Path = (*at, place)
            origin = self._into.mapping(item, source)
            reference = self._into.mapping(origin.get("configMapRef"), (*source, "configMapRef"))
            content = content_of(reference)
            if content is None:
                optional = next((one for one in origin.values() if isinstance(one, dict) and one.get("optional")), None)
                if optional is not None:
                    self._into.warn(source, "has no effect: it is optional, and it is not in the file")
                    continue
                hint = "add it to the file as another document, or write the variables in env"
                self._into.refuse(source, "Muster reads no ConfigMaps and Secrets of a cluster", hint)
            for name, value in (content or {}).items():
                full = f"{origin.get('prefix') or ''}{name}"
                if full not in self._given.appended and _NAME.fullmatch(full):
                    self.literals[full] = value, source

    def read(self, env: Sequence[Any], at: Path, metadata: Mapping[str, Any]) -> None:
        for place, item in enumerate(env):
            source: Path = (*at, place)
            variable = self._into.mapping(item, source)
            name = str(variable.get("name", ""))
            if name in self._given.appended:
                message = f"{name} has no effect: the original sets it itself, and so does Muster"
                self._into.warn(source, message)
                continue
            self._forget(name)
            if not _NAME.fullmatch(name):
                self._into.refuse(
                    (*source, "name"), f"{name[:200]!r} is no name of a variable here", "letters, digits, _"
                )
            elif variable.get("valueFrom") is not None:
                self._value_from(name, variable["valueFrom"], (*source, "valueFrom"), metadata)
            elif isinstance(variable.get("value"), dict | list):
                self._into.refuse((*source, "value"), "is not a text", "write it as one, in quotes")
            else:
                value = variable.get("value")
                where: Path = (*source, "value")
                self._set(name, self._expanded(text("" if value is None else value), self._before, where), where)

    def in_words(self, words: Sequence[Any], source: Path) -> list[list[Part]]:
        """The command or the arguments, where all variables are known."""
        return [self._expanded(text(word), self._in_command, source) for word in words]

    def _expanded(self, written: str, lookup: Lookup, source: Path) -> list[Part]:
        return expanded(written, lookup, lambda characters: self._into.spend(characters, source))

    def _in_command(self, name: str) -> list[Part] | None:
        return [Reference(name)] if name in self._given.appended else self._before(name)

    def _before(self, name: str) -> list[Part] | None:
        if name in self.literals:
            return [self.literals[name][0]]
        is_known = name in self.exports or name in self.secrets or name in self._given.offered
        return [Reference(name)] if is_known else None

    def _forget(self, name: str) -> None:
        for kind in (self.literals, self.exports, self.secrets):
            kind.pop(name, None)

    def _set(self, name: str, parts: Sequence[Part], source: Path) -> None:
        if is_literal(parts):
            self.literals[name] = literal(parts), source
        else:
            self.exports[name] = shell_word(parts)

    def _value_from(self, name: str, given: Any, source: Path, metadata: Mapping[str, Any]) -> None:
        origin = self._into.mapping(given, source)
        secret = self._into.mapping(origin.get("secretKeyRef"), (*source, "secretKeyRef"))
        field_ref = self._into.mapping(origin.get("fieldRef"), (*source, "fieldRef"))
        if secret.get("name") and secret.get("key"):
            self.secrets[name] = f"{secret['name']}.{secret['key']}", (*source, "secretKeyRef")
            return
        config = self._into.mapping(origin.get("configMapKeyRef"), (*source, "configMapKeyRef"))
        found = (content_of(config) or {}).get(str(config.get("key")))
        if found is not None:
            self.literals[name] = found, source
            return
        word = self._field(str(field_ref.get("fieldPath")), metadata) if field_ref else None
        if word is not None:
            self.exports[name] = word
            return
        target = ("roles", self._role, "env", name)
        hint = f"--set {'.'.join(target)}=VALUE gives it one"
        self._into.refuse(source, f"Muster cannot look up the value of {name}", hint, settled_by=target)

    def _field(self, path: str, metadata: Mapping[str, Any]) -> str | None:
        """A word of a shell with what the field of the pod is for a task."""
        match path:
            case "metadata.name":
                return '"$MUSTER_JOB_NAME-$MUSTER_ROLE-$MUSTER_ROLE_INDEX"'
            case "metadata.namespace":
                return shell_word([self._namespace])
            case "status.podIP" | "status.podIPs" | "status.hostIP":
                return own_host(self._role)
            case "spec.nodeName":
                return '"$MUSTER_NODE"'
        match = _METADATA.fullmatch(path)
        if match is None:
            return None
        written = metadata.get(match[1])
        value = written.get(match[2]) if isinstance(written, dict) else None
        return shell_word([text(value)]) if value is not None else _LABELS.get(match[2])


def own_host(role: str) -> str:
    return nth_host(f"MUSTER_HOSTS_{variable_name(role)}", '"$MUSTER_ROLE_INDEX"')


def text(value: Any) -> str:
    """Kubernetes wants text; a number in the YAML is what people forget to quote."""
    return str(value).lower() if isinstance(value, bool) else str(value)
