"""`<% $parameters.x %>` in an OpenPAI job's commands.

A plain parameter becomes a param of the job, `${params.x}`, so that `--param x=2` works and history keeps it. One that
is nested or oddly named is written into the command at once. What refers to nothing stays as text, as OpenPAI has it.
"""

import re
from typing import Any

from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path
from muster.wire.spec_schema import VARIABLE_PATTERN

_TEMPLATE = re.compile(r"<%\s*\$([A-Za-z]+)((?:\.[\w-]+|\[\d+\])*)\s*%>")
_STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]")


class Templates:
    def __init__(self, into: Translator, parameters: Any) -> None:
        self._into = into
        self._parameters = into.mapping(parameters, ("parameters",))
        self._params = {
            name: value
            for name, value in self._parameters.items()
            if _is_plain(value) and re.match(VARIABLE_PATTERN, name)
        }
        for name, value in self._params.items():
            into.put(("params", name), value, ("parameters", name))
        for name in self._parameters.keys() - self._params.keys():
            into.warn(("parameters", name), "is not kept in params: only plain values with plain names are")

    def filled(self, command: str, source: Path) -> str:
        return _TEMPLATE.sub(lambda match: self._replacement(match, source), command)

    def _replacement(self, match: re.Match[str], source: Path) -> str:
        kind, steps = match[1], [key or int(place) for key, place in _STEP.findall(match[2])]
        if kind == "parameters" and len(steps) == 1 and steps[0] in self._params:
            return f"${{params.{steps[0]}}}"
        if kind == "parameters":
            value = _reached(self._parameters, steps)
            if _is_plain(value):
                return str(value).lower() if isinstance(value, bool) else str(value)
            self._into.warn(source, f"{match[0]} refers to no plain parameter and stays as it is")
        return match[0]  # what else there is has been refused where it was declared


def _reached(value: Any, steps: list[Any]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)
