"""What the job files of Kubernetes have in common around their `spec`: names, labels, and keys that nothing reads."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muster.lib.nearest import nearest
from muster.wire.dialects.translation import Translator
from muster.wire.documents import Path

_TOP_KEYS = ("apiVersion", "kind", "metadata", "spec", "status")
_SERVER_KEYS = (
    *("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields", "selfLink"),
    *("finalizers", "ownerReferences", "annotations"),
)
"""What `kubectl get -o yaml` adds; it says nothing about the job."""


def recognizer(kind: str, *versions: str) -> Callable[[Mapping[str, Any]], bool]:
    """A function that says whether a document is of this kind, in one of these versions."""
    return lambda data: data.get("kind") == kind and data.get("apiVersion") in versions


def around_spec(into: Translator, data: Mapping[str, Any]) -> dict[str, Any]:
    """Translates everything around the `spec`, and returns that."""
    metadata = into.mapping(data.get("metadata"), ("metadata",))
    into.trace(("name",), ("metadata", "name"))
    for key, value in metadata.items():
        source: Path = ("metadata", key)
        if key in ("name", "labels"):
            into.put((key,), value, source)
        elif key == "generateName":
            into.refuse(source, "Muster makes up no names", "--name NAME gives it one", settled_by=("name",))
        elif key == "namespace":
            into.warn(source, "has no effect: Muster has no namespaces", "choose where to run it with --cluster")
        elif key not in _SERVER_KEYS:
            dropped(into, source, ("name", "labels", "namespace"))
    for key in data:
        if key not in _TOP_KEYS:
            dropped(into, (key,), ("metadata", "spec"))
    return into.mapping(data.get("spec"), ("spec",))


def namespace_of(data: Mapping[str, Any]) -> str:
    metadata = data.get("metadata")
    return str(metadata.get("namespace") or "default") if isinstance(metadata, dict) else "default"


def name_of(data: Mapping[str, Any]) -> Any:
    metadata = data.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None


def unknown_keys(into: Translator, given: Mapping[str, Any], at: Path, known: Sequence[str]) -> None:
    for key in given:
        if key not in known:
            dropped(into, (*at, key), known)


def dropped(into: Translator, source: Path, known: Sequence[str]) -> None:
    guess = nearest(str(source[-1]), known)
    into.warn(
        source, "unknown key, dropped as a Kubernetes API server drops it", f"did you mean {guess}?" if guess else ""
    )
