"""A stand-in for Volcano, by its documented contract: the API of its PodGroups, and what its scheduler does with them.

The scheduler puts a group in its queue (`Inqueue`) when there is room for `minMember` pods and `minResources`. It binds
pods that name it as their scheduler, and then the group is `Running`. Here the test says when.
"""

import contextlib

from tests.parts.kube import Kube, KubeNamespace, Object, Refused
from tests.parts.server import polls

API = "scheduling.volcano.sh/v1beta1"
_QUANTITY = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podgroups.scheduling.volcano.sh",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/volcano-sh/apis"},
    },
    "spec": {
        "group": "scheduling.volcano.sh",
        "scope": "Namespaced",
        "names": {"kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup"},
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "minMember": {"type": "integer", "format": "int32"},
                                    "minResources": {"type": "object", "additionalProperties": _QUANTITY},
                                    "priorityClassName": {"type": "string"},
                                    "queue": {"type": "string", "default": "default"},
                                },
                            },
                            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}


def install_volcano(kube: Kube) -> None:
    """It stays, as it is on a cluster that has Volcano."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    try:
        kube.request("POST", definitions, _DEFINITION)
    except Refused as error:
        if error.status != 409:
            raise
    for _ in polls(120):
        with contextlib.suppress(Refused):  # until the API server has made room for it
            kube.request("GET", f"/apis/{API}/podgroups")
            return
    raise AssertionError("the API of Volcano's PodGroups is not served")


class VolcanoStandIn:
    def __init__(self, namespace: KubeNamespace) -> None:
        self._namespace = namespace
        self._path = f"/apis/{API}/namespaces/{namespace.name}/podgroups"

    def groups(self) -> list[Object]:
        items: list[Object] = self._namespace.kube.request("GET", self._path)["items"]
        return items

    def await_group(self, name: str) -> Object:
        for _ in polls(120):
            for group in self.groups():
                if group["metadata"]["name"] == name:
                    return group
        raise AssertionError(f"nobody created PodGroup {name}")

    def await_no_group(self) -> None:
        for _ in polls(120):
            if not self.groups():
                return
        raise AssertionError(f"PodGroups are left: {self.groups()}")

    def set_phase(self, name: str, phase: str) -> None:
        body = {"status": {"phase": phase}}
        self._namespace.kube.request("PATCH", f"{self._path}/{name}/status", body, "application/merge-patch+json")

    def bind(self, group: str, node: str) -> None:
        """Bind all pods of the group to a node, as the scheduler does."""
        for pod in self._namespace.all("Pod"):
            annotations, spec = pod["metadata"].get("annotations", {}), pod["spec"]
            if spec.get("nodeName") or annotations.get("scheduling.k8s.io/group-name") != group:
                continue
            name = pod["metadata"]["name"]
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            self._namespace.kube.request("POST", f"/api/v1/namespaces/{self._namespace.name}/pods/{name}/binding", body)
        self.set_phase(group, "Running")
