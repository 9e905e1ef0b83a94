"""A PaddleJob (`batch.paddlepaddle.org/v1`) of paddle-operator as a Muster spec.

Keys that the CRD does not have are dropped by a Kubernetes API server without a word. Here they are dropped with one.
"""

from typing import Any

from muster.domain.specs import Framework, Priority
from muster.lib.nearest import nearest
from muster.wire.dialects.pods import ROLE_BOUNDS, PodRole
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.dialects.volumes import pod_mounts
from muster.wire.documents import Document, Path

API_VERSION, KIND = "batch.paddlepaddle.org/v1", "PaddleJob"
ROLES = ("worker", "ps", "heter")
_NODE_NAME = "kubernetes.io/hostname"
_SPEC_KEYS = ("cleanPodPolicy", "intranet", "withGloo", "schedulingPolicy", *ROLES, "elastic", "sampleSetRef")
_SERVER_KEYS = [
    "uid",
    "creationTimestamp",
    "resourceVersion",
    "generation",
    "managedFields",
    "selfLink",
    "finalizers",
    "ownerReferences",
    "annotations",
]
"""What `kubectl get -o yaml` adds; it says nothing about the job."""


def translate(document: Document) -> Translation:
    into = Translator(document)
    spec = into.mapping(document.data.get("spec"), ("spec",))
    into.put(("framework",), str(Framework.PADDLE), ("kind",))
    _metadata(into, document.data.get("metadata"))
    roles = [
        PodRole(into, name, into.mapping(spec[name], ("spec", name))) for name in ROLES if spec.get(name) is not None
    ]
    if not roles:
        hint = "a PaddleJob needs a worker"
        into.refuse(("spec",), "has neither `worker` nor `ps`", hint, settled_by=("command",))
    for role in roles:
        role.translate()
    _image(into, roles)
    pod_mounts(into, roles)
    _nodes(into, roles)
    _elastic(into, roles, is_elastic=spec.get("elastic") is not None)
    _policies(into, spec, sum(role.replicas for role in roles))
    for key in spec:
        if key not in _SPEC_KEYS:
            _dropped(into, ("spec", key), _SPEC_KEYS)
    for key in document.data:
        if key not in ("apiVersion", "kind", "metadata", "spec", "status"):
            _dropped(into, (key,), ("metadata", "spec"))
    return into.translation()


def _metadata(into: Translator, given: Any) -> None:
    metadata = into.mapping(given, ("metadata",))
    into.trace(("name",), ("metadata", "name"))
    for key, value in metadata.items():
        source: Path = ("metadata", key)
        if key in ("name", "labels"):
            into.put((key,), value, source)
        elif key == "namespace":
            into.warn(source, "has no effect: Muster has no namespaces", "choose where to run it with --cluster")
        elif key not in _SERVER_KEYS:
            _dropped(into, source, ("name", "labels", "namespace"))


def _image(into: Translator, roles: list[PodRole]) -> None:
    """One image for the job: Muster's runtime is the same for all roles."""
    named = [role for role in roles if role.image is not None]
    if not named:
        return
    hint = "--set runtime.image=null keeps everything else and runs the commands with the nodes' own programs"
    into.put(("runtime", "image"), named[0].image, named[0].image_path, hint)
    for role in named[1:]:
        if role.image != named[0].image:
            into.refuse(
                role.image_path,
                f"differs from that of {named[0].name}, and a Muster job has one image",
                "choose one with --set runtime.image=NAME",
                settled_by=("runtime", "image"),
            )


def _nodes(into: Translator, roles: list[PodRole]) -> None:
    """One `where` for the job: a gang is placed as a whole."""
    for role in roles:
        for label, (value, source) in role.node_labels.items():
            target = ("where", "nodes") if label == _NODE_NAME else ("where", "labels", label)
            others = [other.name for other in roles if other.node_labels.get(label, (None,))[0] != value]
            if not others:
                into.put(target, value, source)
                continue
            message = (
                f"{others[0]} does not ask for the same, and the nodes of a Muster job are chosen for all its roles"
            )
            hint = f"--set '{'.'.join(target[:2])}={'NAME' if label == _NODE_NAME else '{KEY: VALUE}'}' says which"
            into.refuse(source, message, hint, settled_by=target[:2])


def _elastic(into: Translator, roles: list[PodRole], *, is_elastic: bool) -> None:
    """paddle-operator declares the bounds of a role and reads none; beside `elastic` it is clear what they mean."""
    for role in roles:
        for key, value in role.bounds.items():
            source: Path = ("spec", role.name, key)
            if is_elastic:
                into.put(("roles", role.name, ROLE_BOUNDS[key]), value, source)
            else:
                into.warn(source, "has no effect without `elastic`, as in paddle-operator", "add `elastic: 1`")
    if is_elastic and not any(role.bounds for role in roles):
        message = "has no effect: no role says how few tasks will do (`requests`) or how many (`limits`)"
        into.warn(("spec", "elastic"), message, "--set roles.worker.min=1")


def _policies(into: Translator, spec: dict[str, Any], replicas: int) -> None:
    for key in ("cleanPodPolicy", "intranet", "withGloo", "sampleSetRef", "schedulingPolicy"):
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
            case "sampleSetRef":
                into.refuse(
                    source,
                    "Muster has no sample sets",
                    "name the data's folder instead: --set 'mounts=[{source: DIR, target: DIR}]', or mounts=[]",
                    settled_by=("mounts",),
                )
            case "schedulingPolicy":
                _scheduling(into, into.mapping(value, source), source, replicas)


def _scheduling(into: Translator, policy: dict[str, Any], at: Path, replicas: int) -> None:
    known = ("minAvailable", "queue", "priorityClass", "minResources")
    for key, value in policy.items():
        source = (*at, key)
        match key:
            case "priorityClass" if value in list(Priority):
                into.put(("priority",), value, source)
            case "priorityClass":
                into.warn(source, f"{value!r} has no effect", f"--set priority= one of {', '.join(Priority)}")
            case "queue":
                into.warn(source, f"{value!r} has no effect: Muster has no such queues", "--cluster says where to run")
            case "minAvailable" if value != replicas:
                into.warn(source, f"has no effect: all {replicas} tasks start together or none does")
            case "minResources":
                into.warn(source, "has no effect: what the tasks ask for is added up")
            case _ if key not in known:
                _dropped(into, source, known)


def _dropped(into: Translator, source: Path, known: tuple[str, ...]) -> None:
    guess = nearest(str(source[-1]), known)
    into.warn(
        source, "unknown key, dropped as a Kubernetes API server drops it", f"did you mean {guess}?" if guess else ""
    )
