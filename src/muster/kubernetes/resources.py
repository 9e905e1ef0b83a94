"""The resources of the Kubernetes API that Muster uses, and the names of labels and annotations on its objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]
"""An object as the API server sends it."""
Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class Resource:
    group: str
    version: str
    kind: str
    plural: str
    is_namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """Without a namespace this is the path of the objects of all namespaces."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.is_namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, self.plural, *(part for part in (name, subresource) if part)])


PODS = Resource("", "v1", "Pod", "pods")
SERVICES = Resource("", "v1", "Service", "services")
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps")
SECRETS = Resource("", "v1", "Secret", "secrets")
EVENTS = Resource("", "v1", "Event", "events")
NODES = Resource("", "v1", "Node", "nodes", is_namespaced=False)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", is_namespaced=False)
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases")
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", is_namespaced=False
)
NODE_METRICS = Resource("metrics.k8s.io", "v1beta1", "NodeMetrics", "nodes", is_namespaced=False)
POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "PodMetrics", "pods")
PADDLE_JOBS = Resource("batch.paddlepaddle.org", "v1", "PaddleJob", "paddlejobs")

RES_NAME, RES_TYPE = "paddle-res-name", "paddle-res-type"
"""Labels of paddle-operator: the name of the pod, which its service selects, and the role."""
JOB_NAME, JOB_UID = "batch.paddlepaddle.org/job-name", "batch.paddlepaddle.org/job-uid"
"""Labels on all objects of a PaddleJob. The uid tells them from those of an earlier job of the same name."""
ATTEMPT = "batch.paddlepaddle.org/attempt"
"""A label on pods: how often the gang had been restarted when the pod was created."""
RESOURCE_ANNOTATION = "paddle-resource"
"""An annotation of paddle-operator on pods: the role."""
HOST_PORT = "host-port"
"""An annotation of paddle-operator on a PaddleJob: the first of the ports that it has on the nodes."""


def key_of(one: Object) -> Key:
    metadata = one.get("metadata") or {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def uid_of(one: Object) -> str:
    return str((one.get("metadata") or {}).get("uid") or "")


def labels_of(one: Object) -> Mapping[str, str]:
    return (one.get("metadata") or {}).get("labels") or {}


def annotations_of(one: Object) -> Mapping[str, str]:
    return (one.get("metadata") or {}).get("annotations") or {}


def owner_of(one: Object) -> tuple[str, str]:
    """Name and uid of the controller that owns the object; empty if none does."""
    for owner in (one.get("metadata") or {}).get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner.get("name") or ""), str(owner.get("uid") or "")
    return "", ""


def owner_uid(one: Object) -> str:
    return owner_of(one)[1]


def owner_reference(owner: Object, resource: Resource) -> dict[str, Any]:
    """What makes the garbage collector delete an object after its owner. It never blocks the deletion of the owner."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": key_of(owner)[1],
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": False,
    }


def selector(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in labels.items())
