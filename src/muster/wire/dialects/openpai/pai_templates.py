"""`<% $parameters.x %>` and the other references in an OpenPAI job's commands.

A plain parameter becomes a param of the job, `${params.x}`, so that `--param x=2` works and history keeps it. What is
nested or oddly named, and what a prerequisite of the role says, is written into the command at once. A secret stays a
reference, which the task itself replaces. What refers to nothing stays as text, as OpenPAI has it.
"""

import re
from collections.abc import Mapping
from typing import Any

from muster.wire.dialects.enclosed_texts import replaced
from muster.wire.dialects.openpai.pai_secrets import PaiSecrets
from muster.wire.dialects.openpai.pai_values import is_plain, number, reached, text_of
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path
from muster.wire.spec_schema import VARIABLE_PATTERN

PREREQUISITES = ("script", "output", "data")
"""The kinds of prerequisites that a role names by a key of the same name, and refers to by it."""
_OPENING, _CLOSING = "<%", "%>"
_REFERENCE = re.compile(r"\$([A-Za-z]+)((?:\.[^.\[\]\s]+|\[\d+\])*)")
_STEP = re.compile(r"\.([^.\[\]\s]+)|\[(\d+)\]")


class Templates:
    """The references of the whole job: its parameters and secrets."""

    def __init__(self, into: Translator, parameters: Any, secrets: PaiSecrets) -> None:
        self._into = into
        self._secrets = secrets
        self._parameters = into.mapping(parameters, ("parameters",))
        self._params = {
            name: number(value)
            for name, value in self._parameters.items()
            if is_plain(value) and re.match(VARIABLE_PATTERN, name)
        }
        for name, value in self._params.items():
            into.put(("params", name), value, ("parameters", name))
        for name in self._parameters.keys() - self._params.keys():
            into.warn(("parameters", name), "is not kept in params: only plain values with plain names are")

    def of_role(self, prerequisites: Mapping[str, Mapping[str, Any]]) -> "RoleTemplates":
        """`prerequisites` are those that the role names, by their kind."""
        return RoleTemplates(self._into, self._params, self._secrets, {"parameters": self._parameters, **prerequisites})


class RoleTemplates:
    def __init__(
        self, into: Translator, params: Mapping[str, Any], secrets: PaiSecrets, values: Mapping[str, Any]
    ) -> None:
        self._into = into
        self._params = params
        self._secrets = secrets
        self._values = values
        self.secrets: dict[str, str] = {}
        """The references to secrets in the texts that were filled, and the variable with the value of each."""

    def filled(self, text: str, source: Path) -> str:
        """A command. What refers to nothing stays in it, with a warning."""
        self._into.spend(len(text), source)

        def replacement(inside: str) -> str:
            found, written = self._found(inside, source), f"{_OPENING}{inside}{_CLOSING}"
            if found is None:
                self._into.warn(source, f"{written} refers to nothing in the file and stays as it is")
            return written if found is None else found

        return replaced(text, _OPENING, _CLOSING, replacement)

    def required(self, text: str, source: Path) -> str:
        """A parameter of a plugin, in which OpenPAI's runtime fails if something refers to nothing."""
        self._into.spend(len(text), source)

        def replacement(inside: str) -> str:
            found = self._found(inside, source)
            if found is None:
                self._into.refuse(source, f"{_OPENING}{inside}{_CLOSING} refers to nothing in the file")
            return found or ""

        return replaced(text, _OPENING, _CLOSING, replacement)

    def _found(self, inside: str, source: Path) -> str | None:
        reference = _REFERENCE.fullmatch(inside.strip())
        if reference is None:
            return None
        kind, steps = reference[1], [key or int(place) for key, place in _STEP.findall(reference[2])]
        if kind == "secrets":
            return self._secret(f"{_OPENING}{inside}{_CLOSING}", steps, source)
        if kind == "parameters" and len(steps) == 1 and steps[0] in self._params:
            self._into.spend(len(str(self._params[str(steps[0])])), source)
            return f"${{params.{steps[0]}}}"
        found = text_of(reached(self._values.get(kind), steps)) if steps else None
        self._into.spend(len(found or ""), source)
        return found

    def _secret(self, written: str, steps: list[str | int], source: Path) -> str:
        found = self._secrets.variable(steps)
        if found is None:
            self._into.refuse(source, f"{written} refers to a secret that is not given", "add it to `secrets`")
            return written
        text = self._secrets.reference(steps)
        self.secrets[text] = found
        return text
