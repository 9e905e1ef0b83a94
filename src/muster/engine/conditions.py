"""What a virtual cluster gives a job that comes to it, and what it asks of one. Pure: a spec in, values out."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from muster.domain.errors import Problem
from muster.domain.reasons import Reason
from muster.domain.resources import WHOLE_GPU, Resources
from muster.domain.specs import JobSpec, Role, Runtime
from muster.domain.virtual_clusters import Defaults, VirtualCluster
from muster.lib.quantities import format_bytes, format_cpu
from muster.wire.specs import DEFAULT_CPU_M

_SAYS_NOTHING = Resources(DEFAULT_CPU_M)


def with_defaults(spec: JobSpec, defaults: Defaults) -> JobSpec:
    """What the spec says wins: variables by name, mounts by target, the runtime as a whole, resources one by one."""
    taken = {mount.target for mount in spec.mounts}
    return replace(
        spec,
        env={**defaults.env, **spec.env},
        runtime=defaults.runtime if spec.runtime == Runtime() else spec.runtime,
        mounts=(*spec.mounts, *(mount for mount in defaults.mounts if mount.target not in taken)),
        roles=tuple(_with_resources(role, defaults.resources) for role in spec.roles),
    )


def refusals(spec: JobSpec, vc: VirtualCluster) -> list[Problem]:
    """What the job may not ask for here."""
    found = []
    if spec.priority not in vc.priorities:
        allowed = ", ".join(vc.priorities)
        found.append(Problem("priority", f"{spec.priority} is not allowed in {vc.name}", f"one of {allowed}"))
    if not spec.preemptible and not vc.may_refuse_preemption:
        hint = "leave it out; an admin can allow it there with mayRefusePreemption"
        found.append(Problem("preemptible", f"false is not allowed in {vc.name}", hint))
    return found


def too_large(spec: JobSpec, vc: VirtualCluster) -> Reason | None:
    """Whether the gang, at its smallest, is more than the virtual cluster may ever have at one time."""
    if vc.max is not None:
        found = _over_share(spec, vc.max.gpus, vc.max.cpu_m, vc.max.memory_bytes, "max")
    elif not vc.borrows:
        share = vc.guaranteed
        found = _over_share(spec, share.gpus, share.cpu_m, share.memory_bytes, "guaranteed, without borrowing,")
    else:
        found = iter(())
    limits = (("limits.runningGpus", vc.limits.running_gpus), ("userLimits.runningGpus", vc.user_limits.running_gpus))
    asked_m = sum(map(_gpus_m, spec.roles))
    over_limits = (
        _reason(_gpus(asked_m), _gpus(most * WHOLE_GPU), name)
        for name, most in limits
        if most is not None and asked_m > most * WHOLE_GPU
    )
    return next(found, None) or next(over_limits, None)


def _over_share(spec: JobSpec, gpus: Mapping[str, int], cpu_m: int, memory: int, name: str) -> Iterator[Reason]:
    """What a share leaves out is not limited by it."""
    for most_m, who in _gpu_ceilings(spec, gpus):
        asked_m = sum(map(_gpus_m, who))
        if asked_m > most_m:
            yield _reason(_gpus(asked_m, who), _gpus(most_m, who), name)
    asked_cpu_m = sum(role.resources.cpu_m * _least(role) for role in spec.roles)
    if cpu_m and asked_cpu_m > cpu_m:
        yield _reason(f"{format_cpu(asked_cpu_m)} cores", format_cpu(cpu_m), name)
    asked_bytes = sum(role.resources.memory_bytes * _least(role) for role in spec.roles)
    if memory and asked_bytes > memory:
        yield _reason(f"{format_bytes(asked_bytes)} of memory", format_bytes(memory), name)


def _gpu_ceilings(spec: JobSpec, gpus: Mapping[str, int]) -> Iterator[tuple[int, list[Role]]]:
    """Roles with the most GPUs that they may have together: those that want the same models, then all."""
    if not gpus:
        return
    by_model = {model.lower(): count for model, count in gpus.items() if model}
    wanting = [role for role in spec.roles if role.resources.gpus]
    for models in dict.fromkeys(role.resources.gpu_models for role in wanting if by_model):
        acceptable = {model.lower() for model in models} or set(by_model)
        same = [role for role in wanting if role.resources.gpu_models == models]
        yield WHOLE_GPU * sum(by_model.get(model, 0) for model in acceptable), same
    yield WHOLE_GPU * gpus.get("", sum(by_model.values())), wanting


def _with_resources(role: Role, given: Resources | None) -> Role:
    """GPUs are given only to a role that asks for nothing at all: `gpu: 0` beside a cpu is an answer too."""
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


def _least(role: Role) -> int:
    return role.replicas if role.min_replicas is None else role.min_replicas


def _gpus_m(role: Role) -> int:
    return role.resources.gpu_m * _least(role)


def _gpus(millis: int, roles: list[Role] | None = None) -> str:
    models = dict.fromkeys(model for role in roles or () for model in role.resources.gpu_models)
    named = f" of model {' or '.join(models)}" if models else ""
    return f"{millis / WHOLE_GPU:g} {'GPU' if millis == WHOLE_GPU else 'GPUs'}{named}"


def _reason(asked: str, most: str, name: str) -> Reason:
    return Reason("never", f"it wants {asked}, and {name} is {most}", "ask for less, or for another virtual cluster")
