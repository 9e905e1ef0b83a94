"""What tests ask of a Kubernetes cluster: objects are dictionaries, and every wait has a limit.

It speaks to the API server itself: a kubectl for every question would keep a small machine busy with its start.
"""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from scripts.kube.cluster import Cluster
from tests.parts.server import polls

Object = dict[str, Any]
_PLACES = {
    "ConfigMap": "api/v1",
    "Event": "api/v1",
    "Lease": "apis/coordination.k8s.io/v1",
    "Namespace": "api/v1",
    "Node": "api/v1",
    "PaddleJob": "apis/batch.paddlepaddle.org/v1",
    "PersistentVolumeClaim": "api/v1",
    "Pod": "api/v1",
    "Secret": "api/v1",
    "Service": "api/v1",
    "ServiceAccount": "api/v1",
}
_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
}


class Refused(Exception):
    """The API server answered with an error."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status}: {words}")
        self.status = status


class Kube:
    """The whole cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        config = json.loads(cluster.kubeconfig.read_text())
        server = config["clusters"][0]["cluster"]
        self._http = httpx.Client(
            base_url=server["server"],
            headers={"Authorization": f"Bearer {config['users'][0]['user']['token']}"},
            verify=ssl.create_default_context(cafile=server["certificate-authority"]),
            timeout=60,
        )

    def close(self) -> None:
        self._http.close()

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl prints. Raises CommandFailed with its words."""
        return self.cluster.kubectl(*arguments, stdin=stdin)

    def request(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Object:
        content = None if body is None else json.dumps(body).encode()
        answer = self._http.request(method, path, content=content, headers={"Content-Type": content_type})
        if answer.is_error:
            raise Refused(answer.status_code, answer.text)
        found: Object = answer.json()
        return found

    def text(self, path: str) -> str:
        answer = self._http.get(path)
        if answer.is_error:
            raise Refused(answer.status_code, answer.text)
        return answer.text

    def lines(self, path: str) -> Iterator[str]:
        """The lines of an answer that does not end, such as a watch."""
        with self._http.stream("GET", path, timeout=None) as answer:
            if answer.is_error:
                raise Refused(answer.status_code, answer.read().decode(errors="replace"))
            yield from answer.iter_lines()

    def nodes(self) -> list[Object]:
        items: list[Object] = self.request("GET", _path("Node"))["items"]
        return items


@dataclass(frozen=True)
class KubeNamespace:
    """One namespace, which belongs to one test."""

    kube: Kube
    name: str

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.kube.kubectl(f"--namespace={self.name}", *arguments, stdin=stdin)

    def create(self, entry: Object) -> Object:
        kind, api = entry["kind"], entry["apiVersion"]
        prefix = f"api/{api}" if api == "v1" else f"apis/{api}"
        return self.kube.request("POST", f"/{prefix}/namespaces/{self.name}/{_plural(kind)}", entry)

    def get(self, kind: str, name: str) -> Object:
        return self.kube.request("GET", self._path(kind, name))

    def find(self, kind: str, name: str) -> Object | None:
        """The object, or None if there is none of this name."""
        try:
            return self.get(kind, name)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def all(self, kind: str, selector: str = "") -> list[Object]:
        query = f"?labelSelector={selector}" if selector else ""
        items: list[Object] = self.kube.request("GET", self._path(kind) + query)["items"]
        return items

    def patch(self, kind: str, name: str, change: object, subresource: str = "") -> Object:
        """Change an object: a dictionary is merged into it, a list is a JSON patch."""
        content_type = _PATCHES["json" if isinstance(change, list) else "merge"]
        path = self._path(kind, name) + (f"/{subresource}" if subresource else "")
        return self.kube.request("PATCH", path, change, content_type)

    def delete(self, kind: str, name: str, grace_s: int | None = None) -> None:
        query = "" if grace_s is None else f"?gracePeriodSeconds={grace_s}"
        self.kube.request("DELETE", self._path(kind, name) + query)

    def logs(self, pod: str, container: str = "") -> str:
        query = f"?container={container}" if container else ""
        return self.kube.text(f"{self._path('Pod', pod)}/log{query}")

    def await_object(
        self, kind: str, name: str, condition: Callable[[Object], object], timeout_s: float = 60
    ) -> Object:
        """The object as soon as it exists and the condition holds for it."""
        found: Object | None = None
        for _ in polls(timeout_s, every_s=0.2):
            found = self.find(kind, name)
            if found is not None and condition(found):
                return found
        raise AssertionError(f"waited in vain for {kind} {name} of {self.name}: {json.dumps(found, indent=1)}")

    def await_all(
        self, kind: str, condition: Callable[[list[Object]], object], selector: str = "", timeout_s: float = 60
    ) -> list[Object]:
        """All objects of the kind as soon as the condition holds for their list."""
        found: list[Object] = []
        for _ in polls(timeout_s, every_s=0.2):
            found = self.all(kind, selector)
            if condition(found):
                return found
        states = [{"name": entry["metadata"]["name"], "status": entry.get("status")} for entry in found]
        raise AssertionError(f"waited in vain for the {_plural(kind)} of {self.name}: {json.dumps(states, indent=1)}")

    def await_gone(self, kind: str, name: str, timeout_s: float = 60) -> None:
        for _ in polls(timeout_s, every_s=0.2):
            if self.find(kind, name) is None:
                return
        raise AssertionError(f"{kind} {name} of {self.name} is still there")

    def remove(self) -> None:
        """Begin to delete the namespace. Its pods get no time to end well, so that they do not burden later tests."""
        self.kube.request("DELETE", self._path("Pod") + "?gracePeriodSeconds=0")
        self.kube.request("DELETE", _path("Namespace", self.name))

    def await_removed(self, timeout_s: float = 60) -> None:
        """Wait until the namespace itself is gone."""
        for _ in polls(timeout_s, every_s=0.5):
            names = [entry["metadata"]["name"] for entry in self.kube.request("GET", _path("Namespace"))["items"]]
            if self.name not in names:
                return
        raise AssertionError(f"namespace {self.name} is still there")

    def _path(self, kind: str, name: str = "") -> str:
        prefix = f"/{_PLACES[kind]}/namespaces/{self.name}/{_plural(kind)}"
        return f"{prefix}/{name}" if name else prefix


def new_namespace(kube: Kube, name: str) -> KubeNamespace:
    kube.request("POST", _path("Namespace"), {"metadata": {"name": name}})
    namespace = KubeNamespace(kube, name)
    # Pods are refused until the controller manager has made the account that they run under.
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    for _ in polls(60):
        try:
            kube.request("GET", account)
        except Refused as error:
            if error.status != 404:
                raise
        else:
            return namespace
    raise AssertionError(f"namespace {name} has no default service account")


def pod(name: str, *command: str, labels: Mapping[str, str] | None = None) -> Object:
    """A pod that runs one command in the test image and is not started again."""
    container = {"name": "main", "image": "local/python:1", "command": list(command)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 1},
    }


def phase(entry: Object) -> str:
    found: str = entry.get("status", {}).get("phase", "")
    return found


def _path(kind: str, name: str = "") -> str:
    prefix = f"/{_PLACES[kind]}/{_plural(kind)}"
    return f"{prefix}/{name}" if name else prefix


def _plural(kind: str) -> str:
    return f"{kind.lower()}s"
