"""A TrainJob (`trainer.kubeflow.org/v1alpha1`) of Kubeflow Trainer as a Muster spec.

Most of such a job is in the runtime that it names, which is not in the file. Those that Kubeflow Trainer itself brings
and that only say how the nodes find each other are known here. Others are refused.
"""

from typing import Any

from muster.domain.extended_resources import GPUS
from muster.domain.specs import Framework
from muster.lib import quantities
from muster.wire.dialects.kubeflow import replica_specs
from muster.wire.dialects.kubernetes.kube_metadata import around_spec, name_of, namespace_of, recognizer, unknown_keys
from muster.wire.dialects.kubernetes.pod_gangs import translate_pods
from muster.wire.dialects.kubernetes.pod_variables import Given, text
from muster.wire.dialects.kubernetes.pods import PodRole
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path

KIND, VERSION = "TrainJob", "trainer.kubeflow.org/v1alpha1"
STATES = {**replica_specs.STATES, "Queued": "Created", "Succeeded": "Complete"}
"""The condition of a TrainJob for each state of a Muster job."""
recognizes = recognizer(KIND, VERSION)

NODE = "node"
"""What Kubeflow Trainer calls the replicated job of the nodes."""
_RUNTIMES = {"torch-distributed": Framework.TORCH, "jax-distributed": Framework.JAX}
_VARIABLES: dict[Framework, tuple[str, ...]] = {
    Framework.TORCH: ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
    Framework.JAX: ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"),
}
_KEYS = ("runtimeRef", "trainer", "suspend", "managedBy", "labels", "annotations", "initializer")
_OVERRIDES = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches")
_TRAINER_KEYS = ("image", "command", "args", "env", "numNodes", "numProcPerNode", "resourcesPerNode")


def translate(document: Document) -> Translation:
    into = Translator(document)
    spec = around_spec(into, document.data)
    at: Path = ("spec", "trainer")
    trainer = into.mapping(spec.get("trainer"), at)
    framework = _framework(into, spec.get("runtimeRef"))
    into.put(("framework",), str(framework), ("spec", "runtimeRef"))
    into.put(("roles", NODE, "replicas"), trainer.get("numNodes", 1), (*at, "numNodes"))
    container: dict[str, Any] = {key: trainer[key] for key in ("image", "command", "args", "env") if key in trainer}
    template = {"spec": {"containers": [{**container, "resources": trainer.get("resourcesPerNode")}]}}
    given = Given(frozenset(_VARIABLES.get(framework, ())))
    role = PodRole(into, NODE, template, at, given=given, namespace=namespace_of(document.data))
    role.at, role.resources_at = at, (*at, "resourcesPerNode")
    translate_pods(into, [role], name_of(document.data))
    if trainer.get("image") is None:
        hint = "--set runtime.image=NAME names it, runtime.image=null runs the command with the nodes' own programs"
        into.refuse((*at, "image"), "is required: that of the runtime is not in the file", hint, ("runtime", "image"))
    if framework is Framework.TORCH:
        processes = _processes(trainer)
        into.put(("env", "PET_NPROC_PER_NODE"), text(processes), (*at, "numProcPerNode"))
    _rest(into, spec, trainer)
    return into.translation()


def _framework(into: Translator, given: Any) -> Framework:
    reference = into.mapping(given, ("spec", "runtimeRef"))
    name, kind = str(reference.get("name")), reference.get("kind", "ClusterTrainingRuntime")
    if name in _RUNTIMES and kind == "ClusterTrainingRuntime":
        return _RUNTIMES[name]
    message = f"the runtime {name!r} is not in the file, and Muster knows only {' and '.join(_RUNTIMES)}"
    hint = "--set framework=torch (or another) says how the nodes find each other, if that is all the runtime does"
    into.refuse(("spec", "runtimeRef"), message, hint, settled_by=("framework",))
    return Framework.NONE


def _processes(trainer: dict[str, Any]) -> Any:
    """The processes that torchrun starts on a node: those of the job, or as many as a node has GPUs, or else CPUs."""
    number = trainer.get("numProcPerNode", "auto")
    resources = trainer.get("resourcesPerNode")
    parts = [resources.get(part) for part in ("limits", "requests")] if isinstance(resources, dict) else []
    asked: dict[str, Any] = {}
    for part in parts:
        asked = {**(part if isinstance(part, dict) else {}), **asked}
    if number not in ("auto", "cpu") or (number == "auto" and any(name in asked for name in GPUS)):
        return number
    try:
        return max(1, -(-quantities.parse_cpu(asked.get("cpu", 1)) // 1000))
    except (TypeError, ValueError):
        return 1


def _rest(into: Translator, spec: dict[str, Any], trainer: dict[str, Any]) -> None:
    unknown_keys(into, spec, ("spec",), (*_KEYS, *_OVERRIDES))
    unknown_keys(into, trainer, ("spec", "trainer"), _TRAINER_KEYS)
    if spec.get("suspend") is not None:
        into.put(("hold",), spec["suspend"], ("spec", "suspend"))
    for key in ("labels", "annotations", "managedBy"):
        if spec.get(key):
            into.warn(("spec", key), "has no effect: Muster labels jobs, not tasks")
    if spec.get("initializer"):
        hint = "download it at the start of the command, or mount it: --set mounts=[...]"
        into.refuse(("spec", "initializer"), "Muster prepares no data sets and models", hint, settled_by=("mounts",))
    for key in _OVERRIDES:
        if spec.get(key):
            message = "changes pods of the runtime, which is not in the file"
            into.refuse(("spec", key), message, f"say it with --set roles.{NODE}..., and remove it")
