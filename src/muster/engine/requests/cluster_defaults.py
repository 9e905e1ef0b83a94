"""Applies the defaults of a virtual cluster to a spec, and checks the spec against its rules and limits. No function
here has side effects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from muster.domain.errors import Problem
from muster.domain.reasons import Reason
from muster.domain.resources import DEFAULT_CPU_M, WHOLE_GPU, Resources
from muster.domain.specs import JobSpec, Role, Runtime
from muster.domain.virtual_clusters import Defaults, Share, VirtualCluster
from muster.lib.quantities import format_cpu
from muster.scheduling.allocations.limits import beyond_max

_SAYS_NOTHING = Resources(DEFAULT_CPU_M)
_LESS = "ask for less, or for another virtual cluster"


def with_defaults(spec: JobSpec, defaults: Defaults) -> JobSpec:
    """The spec with the defaults filled in. What the spec sets takes precedence: variables by name, mounts by target,
    the runtime as a whole, resources one by one."""
    taken = {mount.target for mount in spec.mounts}
    return replace(
        spec,
        env={**defaults.env, **spec.env},
        runtime=spec.runtime if spec.runtime.is_chosen else _with_runtime(spec.runtime, defaults.runtime),
        mounts=(*spec.mounts, *(mount for mount in defaults.mounts if mount.target not in taken)),
        roles=tuple(_with_resources(role, defaults.resources) for role in spec.roles),
    )


def _with_runtime(said: Runtime, given: Runtime) -> Runtime:
    """The default environment. Where it starts, and how its image is pulled, the spec may say all the same."""
    return replace(given, workdir=said.workdir or given.workdir, pull_secret=said.pull_secret or given.pull_secret)


def refusals(spec: JobSpec, vc: VirtualCluster) -> list[Problem]:
    """The parts of the spec that this virtual cluster does not allow."""
    found = []
    if spec.priority not in vc.priorities:
        allowed = ", ".join(vc.priorities)
        found.append(Problem("priority", f"{spec.priority} is not allowed in {vc.name}", f"one of {allowed}"))
    if not spec.preemptible and not vc.may_refuse_preemption:
        hint = "leave it out; an admin can allow it there with mayRefusePreemption"
        found.append(Problem("preemptible", f"false is not allowed in {vc.name}", hint))
    elif not spec.preemptible and vc.guaranteed.is_nothing:
        hint = "leave it out: a job that refuses preemption runs on the guaranteed share, and cannot borrow"
        found.append(Problem("preemptible", f"{vc.name} has no guaranteed share for a job that stays", hint))
    return found


def too_large(spec: JobSpec, vc: VirtualCluster) -> Reason | None:
    """The reason why the gang, at its smallest, exceeds what the virtual cluster may ever use at one time, if any."""
    return next(_ceilings_broken(spec, vc), None)


def _ceilings_broken(spec: JobSpec, vc: VirtualCluster) -> Iterator[Reason]:
    """The limits that the gang exceeds. For `max` this uses the scheduler's own rule, so that exactly those jobs are
    refused that it would never start."""
    asked = _Asked.by(spec.roles)
    reason = beyond_max(vc, Share(), asked.models, asked.gpu_m, asked.cpu_m, asked.memory_bytes)
    if reason is not None:
        yield replace(reason, code="never", change=_LESS)
    if not vc.borrows:
        yield from _beyond_guarantee(spec, asked, vc.guaranteed)
    for name, limits in (("limits", vc.limits), ("userLimits", vc.user_limits)):
        most = limits.running_gpus
        if most is not None and asked.gpu_m > most * WHOLE_GPU:
            yield _never(_gpus(asked.gpu_m), _gpus(most * WHOLE_GPU), f"{name}.runningGpus")


def _beyond_guarantee(spec: JobSpec, asked: "_Asked", share: Share) -> Iterator[Reason]:
    """The guarantees that the gang exceeds in a virtual cluster that may not borrow. CPU and memory come with the GPUs
    if none are named."""
    name = "guaranteed, without borrowing,"
    wanting = [role for role in spec.roles if role.resources.gpus]
    for models in dict.fromkeys(role.resources.gpu_models for role in wanting):
        alike = _Asked.by([role for role in wanting if role.resources.gpu_models == models])
        most_m = WHOLE_GPU * _of_models(share, models)
        if alike.gpu_m > most_m:
            yield _never(_gpus(alike.gpu_m, models), _gpus(most_m, models), name)
    if asked.gpu_m > (most_m := WHOLE_GPU * sum(share.gpus.values())):
        yield _never(_gpus(asked.gpu_m), _gpus(most_m), name)
    if share.cpu_m and not share.gpus and asked.cpu_m > share.cpu_m:
        yield _never(f"{format_cpu(asked.cpu_m)} cores", format_cpu(share.cpu_m), name)


def _of_models(share: Share, models: tuple[str, ...]) -> int:
    wanted = {model.lower() for model in models}
    return sum(count for model, count in share.gpus.items() if not wanted or not model or model.lower() in wanted)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The total that roles request, elastic ones at their smallest."""

    gpu_m: int
    cpu_m: int
    memory_bytes: int
    models: tuple[str, ...]

    @classmethod
    def by(cls, roles: Iterable[Role]) -> "_Asked":
        each = [(role.resources, role.replicas if role.min_replicas is None else role.min_replicas) for role in roles]
        return cls(
            sum(one.gpu_m * count for one, count in each),
            sum(one.cpu_m * count for one, count in each),
            sum(one.memory_bytes * count for one, count in each),
            next((one.gpu_models for one, _ in each if one.gpus), ()),
        )


def _with_resources(role: Role, given: Resources | None) -> Role:
    """The role with the default resources. GPUs are added only to a role that requests nothing at all, as a request
    for CPU alone is a choice too."""
    said = role.resources
    if given is None:
        return role
    if said == _SAYS_NOTHING:
        return replace(role, resources=given)
    filled = replace(
        said,
        cpu_m=given.cpu_m if said.cpu_m == DEFAULT_CPU_M else said.cpu_m,
        memory_bytes=said.memory_bytes or given.memory_bytes,
        gpu_models=said.gpu_models or (given.gpu_models if said.gpus else ()),
    )
    return replace(role, resources=filled)


def _gpus(millis: int, models: tuple[str, ...] = ()) -> str:
    named = f" of model {' or '.join(models)}" if models else ""
    return f"{millis / WHOLE_GPU:g} {'GPU' if millis == WHOLE_GPU else 'GPUs'}{named}"


def _never(asked: str, most: str, name: str) -> Reason:
    return Reason("never", f"it wants {asked}, and {name} is {most}", _LESS)
