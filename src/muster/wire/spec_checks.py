"""Rules between the keys of a spec, which its models cannot say.

They look at what was written, not at the models, so that they are told together with everything else that is wrong;
values of a wrong type are the models' affair and pass here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from muster.domain.errors import Problem
from muster.domain.specs import PS_ROLE, WORKER_ROLE
from muster.lib.nearest import nearest

PARAM = re.compile(r"\$\{params\.([^}]*)\}")
_FLAT_KEYS = ("command", "replicas", "resources", "ports", "minFailed", "minSucceeded")


def cross_checks(data: Mapping[str, Any]) -> list[Problem]:
    return [*_form(data), *_roles(data), *_runtime(data), *_params(data)]


def _form(data: Mapping[str, Any]) -> Iterator[Problem]:
    flat = [key for key in _FLAT_KEYS if data.get(key) is not None]
    if data.get("roles") is not None:
        for key in flat:
            yield Problem(key, "cannot stand beside `roles`", f"move it to roles.{WORKER_ROLE}.{key}")
    elif data.get("command") is None:
        yield Problem("command", "is required", "or `roles` with a command each")
    if data.get("replicas") == 0:
        yield Problem("replicas", "must be at least 1")


def _roles(data: Mapping[str, Any]) -> Iterator[Problem]:
    roles = _mapping(data.get("roles"))
    if roles and all(_mapping(role).get("replicas") == 0 for role in roles.values()):
        yield Problem("roles", "ask for no task at all", "give a role at least one replica")
    replicas = {name: _mapping(role).get("replicas", 1) for name, role in roles.items()}
    if replicas.get(PS_ROLE) and not replicas.get(WORKER_ROLE):
        yield Problem("roles", "has `ps` but no `worker`", "a parameter-server job needs both")


def _runtime(data: Mapping[str, Any]) -> Iterator[Problem]:
    runtime = _mapping(data.get("runtime"))
    chosen = [key for key in ("conda", "venv", "image") if runtime.get(key)]
    if len(chosen) > 1:
        yield Problem(f"runtime.{chosen[1]}", f"stands beside runtime.{chosen[0]}", "choose one")


def _params(data: Mapping[str, Any]) -> Iterator[Problem]:
    known = [str(name) for name in _mapping(data.get("params"))]
    for path, text in _texts(data):
        for name in PARAM.findall(text):
            if name not in known:
                guess = nearest(name, known)
                hint = f"did you mean {guess}?" if guess else f"known params: {', '.join(known) or 'none'}"
                yield Problem(path, f"there is no param {name!r}", hint)


def _texts(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text in which a param is replaced, with its path."""
    parts = [("", data)]
    parts += [(f"roles.{name}.", _mapping(role)) for name, role in _mapping(data.get("roles")).items()]
    for prefix, part in parts:
        command = part.get("command")
        words = command if isinstance(command, list) else [command]
        yield from ((f"{prefix}command", word) for word in words if isinstance(word, str))
        for name, value in _mapping(part.get("env")).items():
            if isinstance(value, str):
                yield f"{prefix}env.{name}", value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
