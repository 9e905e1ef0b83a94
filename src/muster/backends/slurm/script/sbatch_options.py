"""The options of sbatch and srun for a gang: one component for all tasks that ask for the same, several for roles that
differ."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.backends.slurm.answers.amounts import Amounts, total
from muster.backends.slurm.options import SlurmOptions, SubmitSettings
from muster.backends.slurm.script.constraints import is_choice
from muster.domain.gangs import Gang
from muster.domain.resources import Resources
from muster.domain.specs import ANY_VALUE, Framework, JobSpec, Spread, Together
from muster.domain.tasks import Task

_MIB = 1 << 20
_LEAST_MEMORY_BYTES = 64 * _MIB
"""What Slurm is asked for at least for a task that asks for memory: the coordinator and the runners need some, too."""
_SPARE_S = 60.0
"""Slurm's own limit comes so much later than Muster's, which says more about the reason."""
_OPEN_END = 365 * 24 * 60


@dataclass(frozen=True, slots=True)
class Component:
    """Tasks that ask for the same resources, in the order of their ranks: a component of a heterogeneous job."""

    tasks: tuple[Task, ...]
    resources: Resources
    gpu_type: str = ""
    gpu_feature: str = ""
    """The feature of nodes that have such GPUs, if their gres has no type."""

    @property
    def cpus(self) -> int:
        return max(1, math.ceil(self.resources.cpu_m / 1000))

    @property
    def amounts(self) -> Amounts:
        count, asked = len(self.tasks), self.resources
        gpus = {self.gpu_type or self.gpu_feature: count * asked.gpus} if asked.gpus else {}
        return Amounts(count * self.cpus, count * self.memory_bytes, gpus)

    @property
    def memory_bytes(self) -> int:
        """The memory of each task. 0 leaves it to Slurm."""
        asked = self.resources.memory_bytes
        return max(asked, _LEAST_MEMORY_BYTES) if asked else 0

    @property
    def gpus_per_task(self) -> str:
        return self._typed(self.resources.gpus)

    @property
    def gpus(self) -> str:
        return self._typed(self.resources.gpus * len(self.tasks))

    def _typed(self, count: int) -> str:
        return f"{self.gpu_type}:{count}" if self.gpu_type else str(count)


def components(gang: Gang, gpu_type_of: "GpuTypes") -> tuple[Component, ...]:
    """Neighbouring roles with the same resources are one component."""
    found: list[tuple[Resources, list[Task]]] = []
    for task in gang.tasks:
        asked = gang.spec.role(task.role).resources
        if found and found[-1][0] == asked:
            found[-1][1].append(task)
        else:
            found.append((asked, [task]))
    return tuple(
        Component(tuple(tasks), asked, gpu_type_of(asked), gpu_type_of.feature_of(asked)) for asked, tasks in found
    )


def gang_amounts(gang: Gang, gpu_type_of: "GpuTypes") -> dict[str, Any]:
    """What its job holds while it runs, and how many GPUs each task of a role has, for the login node to keep."""
    whole = total(part.amounts for part in components(gang, gpu_type_of))
    gpus = {task.role: gang.spec.role(task.role).resources.gpus for task in gang.tasks}
    return {**whole.plain(), "task_gpus": {role: count for role, count in gpus.items() if count}}


class GpuTypes:
    """Says which gres type has the GPUs that a task asks for, or which feature has the nodes where they are. `known`
    are the types that the cluster has."""

    def __init__(self, options: SlurmOptions, known: Iterable[str] = ()) -> None:
        self._models = {type_: options.gpu_models.get(type_, type_) for type_ in (*options.gpu_models, *known)}
        self._features = options.gpu_features

    def __call__(self, asked: Resources) -> str:
        """Returns no type if any GPU will do, or those of nodes with a feature. A model for which neither is known is
        asked for by its own name, as one word."""
        known = (type_ for type_ in map(self.type_of, asked.gpu_models) if type_ is not None)
        is_unknown = bool(asked.gpu_models) and not self.feature_of(asked)
        return next(known, "_".join(asked.gpu_models[0].split()) if is_unknown else "")

    def feature_of(self, asked: Resources) -> str:
        """Returns no feature if nodes need none, or if a gres type says which GPUs are meant."""
        if any(self.type_of(model) is not None for model in asked.gpu_models):
            return ""
        return next((found for model in asked.gpu_models if (found := _named(model, self._features)) is not None), "")

    def type_of(self, model: str) -> str | None:
        """Returns None if no type is known for the model."""
        return _named(model, self._models)

    def is_known(self, model: str) -> bool:
        return self.type_of(model) is not None or _named(model, self._features) is not None

    def model(self, type_: str) -> str:
        return self._models.get(type_, type_)


def job_options(gang: Gang, name: str, comment: str, settings: SubmitSettings, output: str) -> list[str]:
    """What holds for the whole job, and for each component of it."""
    found = [f"--job-name={name}", f"--comment={comment}", f"--output={output}", "--no-requeue", "--open-mode=append"]
    found += [f"--time={asked_minutes(gang.spec)}"] if gang.spec.time_limit_s else []
    return [*found, *_submitted(settings)]


def component_options(component: Component, spec: JobSpec, settings: SubmitSettings) -> list[str]:
    asked = component.resources
    count = len(component.tasks)
    found = [f"--ntasks={count}", f"--cpus-per-task={component.cpus}"]
    if component.memory_bytes:
        found.append(f"--mem-per-cpu={math.ceil(component.memory_bytes / component.cpus / _MIB)}M")
    if asked.gpus:
        found.append(f"--gpus-per-task={component.gpus_per_task}")
    if spec.where.spread is Spread.APART:
        found += [f"--nodes={count}", "--ntasks-per-node=1"]
    elif spec.where.together is Together.NODE:
        found.append("--nodes=1")
    if spec.where.not_nodes:
        found.append(f"--exclude={','.join(spec.where.not_nodes)}")
    if constraint := job_constraint(spec, settings, component.gpu_feature):
        found.append(f"--constraint={constraint}")
    return found


def srun_options(component: Component, spec: JobSpec, options: SlurmOptions) -> list[str]:
    """The step starts all tasks of the component; the end of one is not the end of the others."""
    found = [f"--ntasks={len(component.tasks)}", f"--cpus-per-task={component.cpus}"]
    if component.resources.gpus:
        # Slurm 22.05 tells tasks nothing of GPUs that are asked for per task. Each runner takes its part of the node's.
        found.append(f"--gpus={component.gpus}")
    mpi = options.mpi if spec.framework is Framework.MPI else "none"
    return [*found, "--kill-on-bad-exit=0", "--wait=0", f"--mpi={mpi}", "--export=ALL"]


def component_settings(settings: SubmitSettings) -> list[str]:
    """What every further component of a heterogeneous job has to repeat."""
    return _submitted(settings)


def _submitted(settings: SubmitSettings) -> list[str]:
    named = {
        "partition": settings.partition,
        "account": settings.account,
        "qos": settings.qos,
        "reservation": settings.reservation,
    }
    return [*(f"--{key}={value}" for key, value in named.items() if value), *settings.options]


def feature(key: str, value: str) -> str:
    """The feature that a label of `where.labels` asks for."""
    return key if value == ANY_VALUE else f"{key}={value}"


def job_constraint(spec: JobSpec, settings: SubmitSettings, gpu_feature: str = "") -> str:
    """The features that the job and the cluster file ask for, and that of the GPUs of some of its tasks."""
    named = [feature(key, value) for key, value in sorted(spec.where.labels.items())]
    wanted: Sequence[str] = [*named, gpu_feature] if gpu_feature and gpu_feature not in named else named
    if settings.constraint:
        wanted = [
            f"({settings.constraint})" if wanted and is_choice(settings.constraint) else settings.constraint,
            *wanted,
        ]
    return "&".join(wanted)


def asked_minutes(spec: JobSpec) -> int:
    """The time limit that Slurm is told of a job that has one."""
    return min(_OPEN_END, math.ceil(((spec.time_limit_s or 0.0) + spec.grace_s + _SPARE_S) / 60))


def _named(model: str, models: Mapping[str, str]) -> str | None:
    """The type or the feature whose GPUs are called like this, in whatever spelling."""
    for name, called in models.items():
        if _plain(model) in (_plain(called), _plain(name)):
            return name
    return None


def _plain(model: str) -> str:
    return model.replace(" ", "").replace("-", "").replace("_", "").lower()
