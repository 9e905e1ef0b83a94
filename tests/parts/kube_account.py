"""A service account of a namespace, with the rights that a test gives it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.parts.kube import KubeNamespace

_RBAC = "rbac.authorization.k8s.io"
Rule = dict[str, Any]


def rule(resources: Sequence[str], verbs: Sequence[str], group: str = "") -> Rule:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def make_account(namespace: KubeNamespace, name: str, folder: Path) -> Path:
    """The kubeconfig of a new account, which has no rights yet."""
    namespace.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    config = json.loads(namespace.kube.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": namespace.kubectl("create", "token", name).strip()}
    kubeconfig = folder / f"{name}.kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    return kubeconfig


def grant(namespace: KubeNamespace, name: str, *rules: Rule) -> None:
    """Give the account rights in its namespace. They go with it."""
    _bind(namespace, name, "Role", f"/namespaces/{namespace.name}", list(rules))


def grant_everywhere(namespace: KubeNamespace, name: str, *rules: Rule) -> None:
    _bind(namespace, name, "ClusterRole", "", list(rules))


def revoke_everywhere(namespace: KubeNamespace, name: str) -> None:
    for plural in ("clusterrolebindings", "clusterroles"):
        namespace.kube.request("DELETE", f"/apis/{_RBAC}/v1/{plural}/{name}-{namespace.name}")


def _bind(namespace: KubeNamespace, name: str, kind: str, where: str, rules: list[Rule]) -> None:
    metadata = {"name": f"{name}-{namespace.name}"}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace.name}
    role = {"apiGroup": _RBAC, "kind": kind, "name": metadata["name"]}
    path = f"/apis/{_RBAC}/v1{where}/{kind.lower()}"
    namespace.kube.request("POST", f"{path}s", {"metadata": metadata, "rules": rules})
    namespace.kube.request("POST", f"{path}bindings", {"metadata": metadata, "roleRef": role, "subjects": [subject]})
