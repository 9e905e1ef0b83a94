"""Replaces some values of a spec: `{"resources.gpu": 2, "priority": "high"}`. The result is read like a submission, so
that a wrong change is refused with the same words."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from muster.domain.errors import Invalid, Problem
from muster.domain.specs import JobSpec
from muster.lib.nearest import nearest
from muster.wire.documents import Document
from muster.wire.spec_problems import UNKNOWN_KEY, keys_at
from muster.wire.specs import spec_from_document
from muster.wire.written_specs import template_to_wire

_OF_A_ROLE = (
    *("command", "args", "replicas", "min", "max", "resources", "ports", "stdin", "tty"),
    *("minFailed", "minSucceeded"),
)
_SHORT = {
    "gpu": "resources.gpu",
    "gpus": "resources.gpu",
    "gpuType": "resources.gpuType",
    "cpu": "resources.cpu",
    "memory": "resources.memory",
    "workers": "replicas",
    "vc": "cluster",
}
"""Short names for common paths; any path of the spec is accepted as well."""
_PARAM = re.compile(r"params\.[^.]+")
"""A param is the same by its path as by its name: one that the job does not have is most likely misspelt."""


def changed_spec(spec: JobSpec, changes: Mapping[str, Any], params: Mapping[str, Any] | None = None) -> JobSpec:
    """Returns the spec with other values by path, and other params by name, which are put into commands and variables
    anew. Raises Invalid with every problem."""
    if not changes and not params:
        raise Invalid("nothing is to be changed", hint="give at least one value, such as resources.gpu=2")
    base = Document(template_to_wire(spec))
    paths = {path: _path(spec, path) for path in changes}
    overrides = {paths[path]: value for path, value in changes.items()}
    by_path = {path: overrides.pop(path) for path in list(overrides) if _PARAM.fullmatch(path)}
    given = {path.removeprefix("params."): value for path, value in by_path.items()} | dict(params or {})
    try:
        return spec_from_document(base, overrides=overrides, params=given)
    except Invalid as refused:
        raise Invalid(refused.message, hint=refused.hint, problems=_with_short_keys(refused.problems)) from None


def read_changes(items: Iterable[str]) -> dict[str, Any]:
    """Parses `gpus=2` to {"gpus": 2}. Numbers, true, null and JSON are parsed as such, everything else is text."""
    changes: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key.strip():
            raise Invalid(f"a change is KEY=VALUE, not {item!r}", hint="such as gpus=2 or vc=vision")
        try:
            changes[key.strip()] = json.loads(text)
        except ValueError:
            changes[key.strip()] = text.strip()
    return changes


def _with_short_keys(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Returns the problems with the short keys among the valid ones, which the reader of job files does not know."""
    valid = list(dict.fromkeys([*_SHORT, *keys_at(())]))
    return tuple(
        replace(problem, hint=_hint(problem.path, valid))
        if problem.message == UNKNOWN_KEY and "." not in problem.path
        else problem
        for problem in problems
    )


def _hint(key: str, valid: Sequence[str]) -> str:
    guess = nearest(key, valid)
    return f"{f'did you mean {guess}? ' if guess else ''}valid keys: {', '.join(valid)}"


def _path(spec: JobSpec, given: str) -> str:
    """Completes a role's key that names no role: it means the only role, or the only one that has GPUs."""
    path = _SHORT.get(given, given)
    if path.split(".", 1)[0] not in _OF_A_ROLE:
        return path
    candidates = [role for role in spec.roles if role.resources.gpus] if "gpu" in path else []
    roles = candidates if len(candidates) == 1 else spec.roles
    if len(roles) != 1:
        names = ", ".join(f"roles.{role.name}.{path}" for role in roles)
        raise Invalid(f"{given} of which role?", hint=f"say {names}")
    return f"roles.{roles[0].name}.{path}"
