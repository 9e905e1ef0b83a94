"""Turns what a person wrote into a JobSpec, or into all problems with it, and a JobSpec back into a document."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from pydantic import ValidationError

from muster.domain.errors import Invalid, Problem
from muster.domain.experiments.params import PARAM, Substitution
from muster.domain.experiments.sweeps import SweepPlan
from muster.domain.resources import DEFAULT_CPU_M, WHOLE_GPU, Resources
from muster.domain.specs import (
    PS_ROLE,
    WORKER_ROLE,
    Completion,
    Dependency,
    Input,
    JobSpec,
    Mount,
    PackagePlace,
    Role,
    Runtime,
    SecretUse,
    Setup,
    Spread,
    Ssh,
    Together,
    Where,
)
from muster.launch.framework_guess import doubts, guess
from muster.lib import quantities
from muster.lib.script_texts import is_script
from muster.wire.dialects.detecting import DIALECTS, Dialect, translate
from muster.wire.dialects.scripts import script_document
from muster.wire.dialects.streams import read_stream
from muster.wire.dialects.translation import ClusterWish, Origin, Translation
from muster.wire.documents import MAX_DEPTH, Document
from muster.wire.spec_checks import cross_checks, unknown_params
from muster.wire.spec_problems import MAX_KEYS, MAX_PROBLEMS, largest_mapping, problems_of
from muster.wire.spec_schema import CompletionIn, InputIn, JobSpecIn, MountIn, ResourcesIn, RoleIn, SetupIn, WhereIn
from muster.wire.sweeps import sweep_checks, sweep_in, with_sweep_params
from muster.wire.unreadable_spec import UnreadableSpec

SHELL = ("/bin/sh", "-c")
"""What runs a command that is written as one text."""
SWEEP_HINT = "submit it alone: muster submit FILE"


@dataclass(frozen=True, slots=True)
class Reading:
    """A spec with the warnings for its author, and a way to relate later problems to the text that they wrote."""

    spec: JobSpec
    warnings: tuple[str, ...]
    placed: Callable[[Problem], Problem]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values that came in the text, by the name under which the spec refers to them. They are no part of it."""
    wish: ClusterWish | None = None
    """Where a job should run that names no cluster itself."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Where each part of a foreign job came from."""
    sweep: SweepPlan | None = None
    """Set if this is no single job but a sweep. The spec is what its members share."""


class ReadDocument(Protocol):
    def __call__(
        self,
        document: Document,
        *,
        overrides: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        dialects: Sequence[Dialect] = DIALECTS,
    ) -> Reading: ...


def read_spec(
    source: str, *, overrides: Mapping[str, Any] | None = None, params: Mapping[str, Any] | None = None
) -> JobSpec:
    return read_source(source, overrides=overrides, params=params).spec


def read_source(
    source: str,
    *,
    overrides: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    dialects: Sequence[Dialect] = DIALECTS,
    read: "ReadDocument | None" = None,
) -> Reading:
    """Reads a text. If it has several documents, the one that is a job is taken. `read` is `reading_of`, or
    `reading_of_any` where a sweep may be meant."""
    document, beside = (script_document(source), []) if is_script(source) else read_stream(source, dialects)
    try:
        reading = (read or reading_of)(document, overrides=overrides, params=params, dialects=dialects)
    except Invalid as error:
        error.warnings = (*error.warnings, *beside)
        raise
    return replace(reading, warnings=(*reading.warnings, *beside))


def spec_from_document(
    document: Document,
    *,
    overrides: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    dialects: Sequence[Dialect] = DIALECTS,
) -> JobSpec:
    return reading_of(document, overrides=overrides, params=params, dialects=dialects).spec


def reading_of(
    document: Document,
    *,
    overrides: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    dialects: Sequence[Dialect] = DIALECTS,
) -> Reading:
    """Raises Invalid with every problem found, each with its path and, when it came from a text, its line. The spec is
    that of one job."""
    reading = reading_of_any(document, overrides=overrides, params=params, dialects=dialects)
    if reading.sweep is None:
        return reading
    problem = reading.placed(Problem("sweep", "makes many jobs, and one is expected here", SWEEP_HINT))
    raise Invalid("the job spec has 1 problem", problems=(problem,))


def reading_of_any(
    document: Document,
    *,
    overrides: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    dialects: Sequence[Dialect] = DIALECTS,
) -> Reading:
    """Reads a job or a sweep, as `reading_of` does."""
    if not isinstance(document.data, dict) and not document.is_script:
        raise Invalid("a job spec is a mapping with at least `name` and `command` or `roles`")
    if largest_mapping(document.data) > MAX_KEYS:
        raise Invalid(f"a mapping in a job spec has at most {MAX_KEYS} keys", hint="put data in files, not in the spec")
    given = {f"params.{name}": value for name, value in (params or {}).items()}
    changes = {**(overrides or {}), **given}
    translation = translate(document, dialects) or Translation(document.data, is_foreign=False)
    overridden = _overridden(translation.data, overrides or {})
    data = translation.settled(_overridden(overridden, given))

    def placed(problem: Problem) -> Problem:
        return translation.placed(problem, changes) if translation.is_foreign else _placed(problem, document)

    sweep, given_params = sweep_in(data), data.get("params")
    problems = [] if sweep is None else list(islice(sweep_checks(data, sweep, params or {}), MAX_PROBLEMS))
    if sweep is not None:
        data, overridden = with_sweep_params(data, sweep), with_sweep_params(overridden, sweep)
    problems += islice(cross_checks(data), MAX_PROBLEMS)
    uncounted = 0
    try:
        model = JobSpecIn.model_validate(data)
    except ValidationError as error:
        found = problems_of(error, data)
        problems += found.first
        uncounted = found.count - len(found.first)
    refused = translation.standing(changes)
    problems = [*refused, *(placed(problem) for problem in problems if not translation.is_covered(problem))]
    problems += islice(unknown_params(overridden, params or {}), MAX_PROBLEMS)
    if not problems:
        spec = _spec(model)
        if sweep is not None:
            own = {name: value for name, value in spec.params.items() if name in (given_params or {})}
            spec = replace(spec, params=own)
        carried = {name: value for name, value in translation.secrets.items() if name in spec.secret_names}
        wish = translation.wish if spec.cluster is None else None
        plan = None if sweep is None else sweep.plan
        return Reading(spec, (*translation.warnings, *doubts(spec)), placed, carried, wish, translation.origins, plan)
    raise UnreadableSpec(problems, uncounted, _without_carried(data, translation.secrets), placed, translation.warnings)


def _without_carried(data: dict[str, Any], carried: Collection[str]) -> dict[str, Any]:
    """The spec without the names of secrets that came in the file, which nobody needs to look up."""
    if not carried:
        return data
    given, runtime = data.get("secrets"), data.get("runtime")
    items = given if isinstance(given, list) else []
    pulled = runtime.get("pullSecret") if isinstance(runtime, dict) else None
    return {
        **data,
        "secrets": [{} if isinstance(one, dict) and str(one.get("name")) in carried else one for one in items],
        "runtime": {**runtime, "pullSecret": None} if isinstance(runtime, dict) and str(pulled) in carried else runtime,
    }


def spec_to_wire(spec: JobSpec) -> dict[str, Any]:
    """The canonical form: roles, no absent keys. Reading it back gives the same JobSpec."""
    wire: dict[str, Any] = {
        "name": spec.name,
        "description": spec.description,
        "cluster": spec.cluster,
        "framework": None if spec.framework_reason else str(spec.framework),
        "priority": str(spec.priority),
        "timeLimit": _opt(quantities.format_duration, spec.time_limit_s),
        "grace": quantities.format_duration(spec.grace_s),
        "retry": {"max": spec.retry_max} if spec.retry_max else None,
        "env": dict(spec.env),
        "params": dict(spec.params),
        "labels": dict(spec.labels),
        "package": _package_to_wire(spec),
        "inputs": [{"source": one.source, "target": one.target} for one in spec.inputs],
        "outputs": list(spec.outputs),
        "metrics": list(spec.metrics),
        "secrets": [_secret_to_wire(one) for one in spec.secrets],
        "runtime": _runtime_to_wire(spec.runtime),
        "setup": _opt(_setup_to_wire, spec.setup),
        "ssh": _opt(_ssh_to_wire, spec.ssh),
        "mounts": [_mount_to_wire(mount) for mount in spec.mounts],
        "gloo": spec.gloo,
        "hold": spec.held,
        "after": [{"job": needed.job, "on": str(needed.on)} for needed in spec.after],
        "where": _where_to_wire(spec.where),
        "roles": {role.name: _role_to_wire(role) for role in spec.roles},
    }
    said = {key: value for key, value in wire.items() if value not in (None, "", {}, [], 0, False)}
    return said if spec.preemptible else {**said, "preemptible": False}


def _secret_to_wire(use: SecretUse) -> dict[str, str]:
    wire = {"name": use.name, "env": use.env, "file": use.file}
    return {key: value for key, value in wire.items() if value}


def _runtime_to_wire(runtime: Runtime) -> dict[str, str]:
    wire = {
        "conda": runtime.conda,
        "venv": runtime.venv,
        "image": runtime.image,
        "workdir": runtime.workdir,
        "pullSecret": runtime.pull_secret,
    }
    return {key: value for key, value in wire.items() if value}


def _mount_to_wire(mount: Mount) -> dict[str, Any]:
    """A storage is written by its name alone: on another cluster it is another folder."""
    what = mount.storage or mount.source
    return {mount.source_key: what, "target": mount.target, "readOnly": mount.read_only}


def _where_to_wire(where: Where) -> dict[str, Any]:
    wire = {
        "nodes": list(where.nodes),
        "notNodes": list(where.not_nodes),
        "labels": dict(where.labels),
        "spread": None if where.spread is Spread.PACK else str(where.spread),
        "together": str(where.together),
    }
    return {key: value for key, value in wire.items() if value}


def _role_to_wire(role: Role) -> dict[str, Any]:
    resources = role.resources
    wire = {
        "replicas": role.replicas,
        "min": role.min_replicas,
        "max": role.max_replicas,
        "command": role.command[-1] if role.is_line else list(role.command) or None,
        "args": list(role.args) or None,
        "resources": {
            k: v
            for k, v in (
                ("cpu", quantities.format_cpu(resources.cpu_m)),
                ("memory", _opt(quantities.format_bytes, resources.memory_bytes or None)),
                ("gpu", quantities.gpu_number(resources.gpu_m)),
                ("gpuType", list(resources.gpu_models) if resources.gpus else []),
                ("devices", dict(resources.extended)),
            )
            if v
        },
        "env": dict(role.env),
        "ports": role.ports,
        "stdin": role.stdin,
        "tty": role.tty,
        "minFailed": -1 if role.completion.min_failed is None else role.completion.min_failed,
        "minSucceeded": -1 if role.completion.min_succeeded is None else role.completion.min_succeeded,
    }
    return {key: value for key, value in wire.items() if key == "replicas" or value not in (None, {}, 0)}


def _setup_to_wire(setup: Setup) -> dict[str, Any]:
    return {"command": list(setup.command), **({} if setup.cache else {"cache": False})}


def _package_to_wire(spec: JobSpec) -> str | None:
    place = spec.package_place
    return spec.package if place is None else f"{place.cluster}:{place.path}"


def _ssh_to_wire(ssh: Ssh) -> dict[str, Any] | bool:
    return {"authorizedKeys": list(ssh.authorized_keys)} if ssh.authorized_keys else True


def _opt(function: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else function(value)


def _overridden(data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy with overrides such as `roles.worker.replicas: 4` applied to it. Each mapping on the way is copied
    once, however many overrides lead through it."""
    result = dict(data)
    own = {id(result): result}
    for path, value in changes.items():
        *around, last = _keys(path)
        if len(around) > MAX_DEPTH:
            raise Invalid(f"cannot set {path[:200]}: it is nested too deeply")
        inner = result
        for key in around:
            inner = _own_mapping(inner, key, own, path)
        inner[last] = value
    return result


def _keys(path: str) -> list[str]:
    """The keys on the way to a value. The names of devices have dots in them."""
    before, devices, name = path.partition("resources.devices.")
    return [*before.split(".")[:-1], "resources", "devices", name] if devices else path.split(".")


def _own_mapping(outer: dict[str, Any], key: str, own: dict[int, dict[str, Any]], path: str) -> dict[str, Any]:
    """Returns the mapping at the key, which may be changed, because it is a copy."""
    found = outer.get(key)
    if found is not None and not isinstance(found, dict):
        raise Invalid(f"cannot set {path[:200]}: {key} is a value that is not a mapping")
    if found is None or id(found) not in own:
        found = outer[key] = dict(found or {})
        own[id(found)] = found
    return found


def _placed(problem: Problem, document: Document) -> Problem:
    if problem.line is not None or not document.lines:
        return problem
    return Problem(problem.path, problem.message, problem.hint, document.line(problem.path))


def _spec(model: JobSpecIn) -> JobSpec:
    has_ps = model.roles is not None and PS_ROLE in model.roles and model.roles[PS_ROLE].replicas > 0
    fill = Substitution(model.params)
    roles = tuple(_role(name, role, has_ps, fill) for name, role in _roles(model) if role.replicas)
    guessed = None if "framework" in model.model_fields_set else guess(roles)
    place = _package_place(model.package)
    return JobSpec(
        name=model.name,
        description=model.description,
        cluster=model.cluster or (place.cluster if place else None),
        framework=guessed.framework if guessed else model.framework,
        framework_reason=guessed.reason if guessed else "",
        priority=model.priority,
        time_limit_s=model.time_limit,
        grace_s=model.grace,
        retry_max=model.retry.max,
        env=fill.mapping(model.env),
        env_template=_with_params(model.env),
        params=dict(model.params),
        labels=dict(model.labels),
        package=None if place else model.package,
        package_place=place,
        inputs=tuple(_input(one) for one in model.inputs),
        outputs=tuple(dict.fromkeys(model.outputs)),
        metrics=tuple(dict.fromkeys(model.metrics)),
        secrets=tuple(SecretUse(one.name, one.env or "", one.file or "") for one in model.secrets),
        runtime=Runtime(**model.runtime.model_dump()),
        setup=None if model.setup is None else _setup(model.setup, fill),
        ssh=None if model.ssh is None else Ssh(tuple(model.ssh.authorized_keys)),
        mounts=tuple(_mount(mount) for mount in model.mounts),
        gloo=model.gloo,
        held=model.hold,
        after=tuple(Dependency(needed.job, needed.on) for needed in model.after),
        where=_where(model.where),
        preemptible=model.preemptible,
        roles=roles,
    )


def _package_place(package: str | None) -> PackagePlace | None:
    cluster, colon, path = (package or "").partition(":")
    return PackagePlace(cluster, path) if colon else None


def _roles(model: JobSpecIn) -> list[tuple[str, RoleIn]]:
    """ps first, so that ranks follow the start order."""
    if model.roles is not None:
        return sorted(model.roles.items(), key=lambda item: item[0] != PS_ROLE)
    flat = RoleIn.model_construct(
        replicas=1 if model.replicas is None else model.replicas,
        min=model.min,
        max=model.max,
        command=model.command,
        args=model.args,
        resources=model.resources or ResourcesIn(),
        env={},
        ports=model.ports or 0,
        stdin=bool(model.stdin),
        tty=bool(model.tty),
        completion=None,
        min_failed=model.min_failed,
        min_succeeded=model.min_succeeded,
    )
    return [(WORKER_ROLE, flat)]


def _role(name: str, role: RoleIn, has_ps: bool, fill: Substitution) -> Role:
    written, args = _written(role.command), tuple(role.args or ())
    return Role(
        name=name,
        replicas=role.replicas,
        command=tuple(fill.text(word) for word in written),
        command_template=written if any(PARAM.search(word) for word in written) else (),
        is_line=isinstance(role.command, str),
        args=tuple(fill.text(word) for word in args),
        args_template=args if any(PARAM.search(word) for word in args) else (),
        resources=_resources(role.resources),
        env=fill.mapping(role.env),
        env_template=_with_params(role.env),
        ports=role.ports,
        completion=_completion(name, role, has_ps),
        min_replicas=role.min,
        max_replicas=role.max,
        stdin=role.stdin,
        tty=role.tty,
    )


def _setup(given: SetupIn, fill: Substitution) -> Setup:
    written = _written(given.command)
    template = written if any(PARAM.search(word) for word in written) else ()
    return Setup(tuple(fill.text(word) for word in written), given.cache, template)


def _written(command: str | list[str] | None) -> tuple[str, ...]:
    return (*SHELL, command) if isinstance(command, str) else tuple(command or ())


def _resources(resources: ResourcesIn) -> Resources:
    models = [resources.gpu_type] if isinstance(resources.gpu_type, str) else resources.gpu_type or []
    cpu_m = DEFAULT_CPU_M if resources.cpu is None else resources.cpu
    gpu_m = WHOLE_GPU if models and "gpu" not in resources.model_fields_set else resources.gpu
    gpus, share = (1, gpu_m) if 0 < gpu_m < WHOLE_GPU else (gpu_m // WHOLE_GPU, WHOLE_GPU)
    extended = tuple(sorted(resources.devices.items()))
    return Resources(cpu_m, resources.memory or 0, gpus, tuple(models) if gpus else (), share, extended)


def _input(given: InputIn) -> Input:
    name = given.source.rstrip("/").rpartition("/")[2]
    return Input(given.source, (given.target or name).rstrip("/"))


def _mount(given: MountIn) -> Mount:
    return Mount(given.source or "", given.target, given.read_only, given.storage or "")


def _where(where: WhereIn) -> Where:
    together = Together(where.together or Together.ANYWHERE)
    return Where(tuple(where.nodes), tuple(where.not_nodes), dict(where.labels), where.spread, together)


def _completion(name: str, role: RoleIn, has_ps: bool) -> Completion:
    """0 and absent mean the default, and -1 means never, as in OpenPAI."""
    nested = role.completion or CompletionIn()
    failed = role.min_failed if role.min_failed is not None else nested.min_failed
    succeeded = role.min_succeeded if role.min_succeeded is not None else nested.min_succeeded
    all_workers = role.replicas if has_ps and name == WORKER_ROLE else None
    return Completion(
        min_failed=None if failed == -1 else failed or 1,
        min_succeeded=None if succeeded == -1 else succeeded or all_workers,
    )


def _with_params(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if PARAM.search(value)}
