"""A PaddleJob (`batch.paddlepaddle.org/v1`) of paddle-operator as a Muster spec.

Keys that the CRD does not have are dropped by a Kubernetes API server without a word. Here they are dropped with one.
"""

from typing import Any

from muster.domain.specs import Framework
from muster.launch.frameworks.paddle import ELASTIC_JOB_ID
from muster.wire.dialects.kubernetes.kube_metadata import around_spec, name_of, namespace_of, recognizer, unknown_keys
from muster.wire.dialects.kubernetes.pod_gangs import translate_pods
from muster.wire.dialects.kubernetes.pod_variables import Given
from muster.wire.dialects.kubernetes.pods import PodRole
from muster.wire.dialects.kubernetes.run_policies import restart_policies, scheduling
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path

API_VERSION, KIND = "batch.paddlepaddle.org/v1", "PaddleJob"
ROLES = ("worker", "ps", "heter")
STATES = {
    "Queued": "Pending",
    "Held": "Pending",
    "Starting": "Starting",
    "Running": "Running",
    "Stopping": "Terminating",
    "Succeeded": "Completed",
    "Failed": "Failed",
    "Cancelled": "Terminated",
}
"""The phase of a PaddleJob for each state of a Muster job."""
recognizes = recognizer(KIND, API_VERSION)

_SPEC_KEYS = ("cleanPodPolicy", "intranet", "withGloo", "schedulingPolicy", *ROLES, "elastic", "sampleSetRef")
_BOUNDS = {"requests": "min", "limits": "max"}
"""How few and how many replicas will do, beside `replicas`."""
_APPENDED = frozenset({"POD_IP", "PADDLE_TRAINER_ID", "TRAINING_ROLE", "PADDLE_TRAINING_ROLE"})
_ELASTIC = frozenset({ELASTIC_JOB_ID, "PADDLE_ELASTIC_NP", "PADDLE_ELASTIC_TIMEOUT"})
_ELASTIC_TIMEOUT_S = 60
_OFFERED = frozenset({"TRAINER_PORTS_NUM", "PADDLE_PORT"})
_OFFERED_BY_ROLE = {
    "ps": frozenset({"PADDLE_PSERVERS_IP_PORT_LIST"}),
    "worker": frozenset({"PADDLE_TRAINER_ENDPOINTS", "PADDLE_TRAINERS", "PADDLE_TRAINERS_NUM"}),
    "heter": frozenset({"PADDLE_HETER_ENDPOINTS"}),
}
_GLOO = frozenset({"PADDLE_WITH_GLOO", "PADDLE_GLOO_RENDEZVOUS", "PADDLE_GLOO_HTTP_ENDPOINT"})


def translate(document: Document) -> Translation:
    into, data = Translator(document), document.data
    spec = around_spec(into, data)
    into.put(("framework",), str(Framework.PADDLE), ("kind",))
    given = _given(spec)
    sizes = {name: into.mapping(spec[name], ("spec", name)) for name in ROLES if spec.get(name) is not None}
    roles = [
        PodRole(into, name, size.get("template"), ("spec", name, "template"), given=given, namespace=namespace_of(data))
        for name, size in sizes.items()
    ]
    if not roles:
        hint = "a PaddleJob needs a worker"
        into.refuse(("spec",), "has neither `worker` nor `ps`", hint, settled_by=("command",))
    for name, size in sizes.items():
        _replicas(into, name, size)
    translate_pods(into, roles, name_of(data), _sample_set(into, spec.get("sampleSetRef")))
    restart_policies(into, roles, {})
    _elastic(into, sizes, namespace_of(data), name_of(data), is_elastic=spec.get("elastic") is not None)
    _policies(into, spec, sum(_count(size) for size in sizes.values()))
    unknown_keys(into, spec, ("spec",), _SPEC_KEYS)
    return into.translation()


def _given(spec: dict[str, Any]) -> Given:
    """The variables of paddle-operator. An elastic job has no ConfigMap there."""
    if spec.get("elastic") is not None:
        return Given(_APPENDED | _ELASTIC)
    offered = frozenset[str]().union(*(_OFFERED_BY_ROLE[name] for name in ROLES if spec.get(name) is not None))
    has_gloo = bool(spec.get("withGloo")) and spec.get("ps") is not None
    return Given(_APPENDED, _OFFERED | offered | (_GLOO if has_gloo else frozenset()))


def _count(size: dict[str, Any]) -> int:
    value = size.get("replicas")
    return value if isinstance(value, int) else 0


def _replicas(into: Translator, name: str, size: dict[str, Any]) -> None:
    at, target = ("spec", name), ("roles", name, "replicas")
    into.put(("roles", name), {}, at)
    for key, value in size.items():
        if key == "replicas":
            into.put(target, value, (*at, key))
        elif key not in ("template", *_BOUNDS):
            into.warn((*at, key), "has no effect, as in paddle-operator")
    if size.get("replicas") is None:
        into.refuse((*at, "replicas"), "is required", f"--set {'.'.join(target)}=1", settled_by=target)


def _elastic(
    into: Translator, sizes: dict[str, dict[str, Any]], namespace: str, name: Any, *, is_elastic: bool
) -> None:
    """paddle-operator declares the bounds of a role and reads none: as many tasks run as `replicas` says."""
    bounds = [(role, key, size[key]) for role, size in sizes.items() for key in _BOUNDS if size.get(key) is not None]
    for role, key, value in bounds:
        hint = f"--set roles.{role}.{_BOUNDS[key]}={value} lets the number change"
        into.warn(("spec", role, key), "has no effect, as in paddle-operator, which runs `replicas` tasks", hint)
    if not is_elastic:
        return
    at: Path = ("spec", "elastic")
    into.put(("env", ELASTIC_JOB_ID), f"{namespace}-{name}", at)
    into.put(("env", "PADDLE_ELASTIC_TIMEOUT"), str(_ELASTIC_TIMEOUT_S), at)
    if not bounds:
        into.warn(at, "the number of tasks stays, as in paddle-operator", "--set roles.worker.min=1 lets it change")


def _sample_set(into: Translator, given: Any) -> list[tuple[dict[str, Any], Path]]:
    """A sample set is mounted as the claim of its name, which is a storage of the cluster here."""
    source: Path = ("spec", "sampleSetRef")
    sample_set = into.mapping(given, source)
    if not sample_set:
        return []
    name, target = sample_set.get("name"), sample_set.get("mountPath")
    if not name or not target:
        hint = "name the data's folder instead: --set 'mounts=[{source: DIR, target: DIR}]', or mounts=[]"
        into.refuse(source, "has no `name` or no `mountPath`", hint, settled_by=("mounts",))
        return []
    return [({"storage": str(name), "target": str(target), "readOnly": False}, source)]


def _policies(into: Translator, spec: dict[str, Any], tasks: int) -> None:
    for key in ("cleanPodPolicy", "intranet", "withGloo", "schedulingPolicy"):
        value, source = spec.get(key), ("spec", key)
        if value is None:
            continue
        match key:
            case "withGloo":
                into.put(("gloo",), value, source)
            case "cleanPodPolicy":
                into.warn(source, "has no effect: Muster keeps no pods", "records and logs of ended tasks are kept")
            case "intranet" if value != "PodIP":
                into.warn(source, f"{value!r} has no effect: tasks reach each other in the way of their cluster")
            case "schedulingPolicy":
                scheduling(into, value, source, tasks)
