"""A spec as its author would write it: with `${params.x}` in commands and variables, without defaults, and without
roles if there is one worker role only. Reading it gives the same spec."""

from collections.abc import Mapping
from typing import Any

from muster.domain.resources import DEFAULT_CPU_M
from muster.domain.specs import PS_ROLE, WORKER_ROLE, Framework, JobSpec, Priority, Role
from muster.launch.framework_guess import guess
from muster.lib.quantities import format_cpu, format_duration
from muster.wire.spec_paths import flat
from muster.wire.specs import SHELL, spec_to_wire

_DEFAULTS_BUT_FRAMEWORK = {"priority": str(Priority.NORMAL), "grace": format_duration(10.0)}
_DEFAULTS = {**_DEFAULTS_BUT_FRAMEWORK, "framework": str(Framework.PLAIN)}


def template_to_wire(spec: JobSpec) -> dict[str, Any]:
    """The canonical form before params were replaced. A job that was stored without its template has its texts as they
    are."""
    wire = spec_to_wire(spec)
    if spec.env_template:
        wire["env"] = {**spec.env, **spec.env_template}
    if spec.setup is not None and spec.setup.command_template:
        wire["setup"]["command"] = list(spec.setup.command_template)
    for role in spec.roles:
        part = wire["roles"][role.name]
        if role.command_template:
            part["command"] = role.command_template[-1] if role.is_line else list(role.command_template)
        if role.args_template:
            part["args"] = list(role.args_template)
        if role.env_template:
            part["env"] = {**role.env, **role.env_template}
        if _ends_with_all(spec, role):
            part.pop("minSucceeded", None)  # all of them, however many there will be
    return wire


def spec_as_written(spec: JobSpec) -> dict[str, Any]:
    wire = _without_defaults(spec)
    roles = wire["roles"]
    if tuple(wire.get("setup", {}).get("command", ()))[:-1] == SHELL:
        wire["setup"] = {**wire["setup"], "command": wire["setup"]["command"][-1]}
    if list(roles) != [WORKER_ROLE] or "env" in roles[WORKER_ROLE]:
        return wire
    del wire["roles"]
    flat = roles[WORKER_ROLE]
    return {**wire, **{key: value for key, value in flat.items() if (key, value) != ("replicas", 1)}}


def default_paths(spec: JobSpec) -> set[str]:
    """The paths of the canonical form that its author would leave out, because Muster says the same by itself."""
    written = flat(_without_defaults(spec))
    found = {path for path in flat(template_to_wire(spec)) if path not in written}
    if [role.name for role in spec.roles] == [WORKER_ROLE] and spec.roles[0].replicas == 1:
        found.add(f"roles.{WORKER_ROLE}.replicas")
    return found


def _without_defaults(spec: JobSpec) -> dict[str, Any]:
    wire = template_to_wire(spec)
    defaults = _DEFAULTS if guess(spec.roles) is None else _DEFAULTS_BUT_FRAMEWORK
    roles = {role.name: _role_as_written(spec, role, wire["roles"][role.name]) for role in spec.roles}
    return {**{key: value for key, value in wire.items() if value != defaults.get(key)}, "roles": roles}


def _role_as_written(spec: JobSpec, role: Role, wire: Mapping[str, Any]) -> dict[str, Any]:
    written = dict(wire)
    resources = {key: value for key, value in (wire.get("resources") or {}).items() if (key, value) != _DEFAULT_CPU}
    written["resources"] = resources
    if wire.get("minFailed") == 1:
        del written["minFailed"]
    if wire.get("minSucceeded") == -1 and not (_has_ps(spec) and role.name == WORKER_ROLE):
        del written["minSucceeded"]
    return {key: value for key, value in written.items() if value != {}}


_DEFAULT_CPU = ("cpu", format_cpu(DEFAULT_CPU_M))


def _has_ps(spec: JobSpec) -> bool:
    return any(role.name == PS_ROLE for role in spec.roles)


def _ends_with_all(spec: JobSpec, role: Role) -> bool:
    return _has_ps(spec) and role.name == WORKER_ROLE and role.completion.min_succeeded == role.replicas
