"""The params of a job file: their default values, and what the comments behind them say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from muster.cli.failures import Failure
from muster.lib.nearest import nearest

_BLOCK = re.compile(r"^params:[ \t]*(?:#[^\n]*)?\n((?:[ \t]+[^\n]*\n|[ \t]*\n)*)", re.MULTILINE)
_LINE = re.compile(
    r"""^(?P<start>[ \t]+(?P<name>[A-Za-z_]\w*):[ \t]+)(?P<value>"[^"\n]*"|'[^'\n]*'|[^\n]*?)"""
    r"""(?P<rest>(?:[ \t]+\#[ \t]*(?P<said>[^\n]*))?[ \t]*)$""",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    value: Any
    description: str = ""


def params_of(text: str) -> list[Param]:
    """Returns none if the text cannot be read, or is a job of another kind."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return []
    found = document.get("params") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        return []
    block = _BLOCK.search(text + "\n")
    said = {line["name"]: line["said"] or "" for line in _LINE.finditer(block[1])} if block else {}
    return [Param(str(name), value, said.get(str(name), "").strip()) for name, value in found.items()]


def with_params(text: str, given: Mapping[str, Any]) -> str:
    """Returns the text with other values, and all its comments. Raises Failure for a param that it does not have."""
    known = [param.name for param in params_of(text)]
    for name in given:
        if name not in known:
            guess = nearest(name, known)
            hint = f"did you mean {guess}?" if guess else f"known params: {', '.join(known) or 'none'}"
            raise Failure(f"the template has no param {name}", hint=hint)
    block = _BLOCK.search(text)
    if block is None:
        return _with_flow(text, given)
    changed = _LINE.sub(lambda line: _replaced(line, given), block[1])
    text = text[: block.start(1)] + changed + text[block.end(1) :]
    wrong = [param.name for param in params_of(text) if param.name in given and param.value != given[param.name]]
    if wrong:
        raise Failure(f"the param {wrong[0]} cannot be set in this file", hint="change it in the file that was written")
    return text


def _with_flow(text: str, given: Mapping[str, Any]) -> str:
    values = {param.name: given.get(param.name, param.value) for param in params_of(text)}
    return re.sub(r"^params:.*$", lambda _: f"params: {_flow(values)}", text, count=1, flags=re.MULTILINE)


def _replaced(line: re.Match[str], given: Mapping[str, Any]) -> str:
    name = line["name"]
    return f"{line['start']}{_flow(given[name])}{line['rest']}" if name in given else line[0]


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...").strip()
