"""A service account with the rights that `deploy/v1/operator.yaml` gives an operator, or some of them."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.parts.kube import KubeNamespace, Object
from tests.parts.paddle_jobs import DEPLOY

Right = tuple[str, str, str]
"""API group, resource with its subresource, verb."""
_RBAC = "rbac.authorization.k8s.io"


def manifests() -> list[Object]:
    return list(yaml.safe_load_all((DEPLOY / "v1" / "operator.yaml").read_text(encoding="utf-8")))


def granted() -> set[Right]:
    """All rights of the operator."""
    return {
        (group, resource, verb)
        for one in manifests()
        for rule in one.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@dataclass(frozen=True)
class Account:
    """A service account in a namespace. Its rights can be changed at any time, and count at once."""

    home: KubeNamespace
    name: str

    def create(self, folder: Path) -> Path:
        """Returns its kubeconfig."""
        self.home.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": self.name}})
        return _kubeconfig(self.home, self.name, folder)

    def may(self, rights: Iterable[Right], within: KubeNamespace | None = None) -> None:
        """What it may do in a namespace, or without one in the whole cluster, instead of what it might before."""
        kind = "ClusterRole" if within is None else "Role"
        name = f"{self.name}-{self.home.name}"
        rules = [{"apiGroups": [group], "resources": [resource], "verbs": [verb]} for group, resource, verb in rights]
        objects = _bound_role(self.home, self.name, name, kind, rules)
        place = within or self.home
        place.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def remove_cluster_rights(self) -> None:
        names = [f"{kind}/{self.name}-{self.home.name}" for kind in ("clusterrolebinding", "clusterrole")]
        self.home.kubectl("delete", "--ignore-not-found", *names)


@contextlib.contextmanager
def account(
    namespace: KubeNamespace, folder: Path, *, within: tuple[str, ...] = (), everywhere: tuple[str, ...] = ()
) -> Iterator[Path]:
    """The kubeconfig of the account. The roles are named as in `paddle-NAME-role`: those of `within` are valid in the
    namespace, those of `everywhere` in the whole cluster."""
    objects = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "operator"}}]
    for name in within:
        objects += _role(namespace, name, "Role")
    for name in everywhere:
        objects += _role(namespace, name, "ClusterRole")
    text = yaml.safe_dump_all(objects)
    namespace.kubectl("create", "-f", "-", stdin=text)
    try:
        yield _kubeconfig(namespace, "operator", folder)
    finally:
        namespace.kubectl("delete", "-f", "-", stdin=text)


def _kubeconfig(namespace: KubeNamespace, account: str, folder: Path) -> Path:
    config = json.loads(namespace.kube.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": namespace.kubectl("create", "token", account).strip()}
    kubeconfig = folder / f"{account}.kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    return kubeconfig


def _role(namespace: KubeNamespace, name: str, kind: str) -> list[Object]:
    rules = next(one["rules"] for one in manifests() if one["metadata"]["name"] == f"paddle-{name}-role")
    return _bound_role(namespace, "operator", f"{name}-{namespace.name}", kind, rules)


def _bound_role(home: KubeNamespace, account: str, name: str, kind: str, rules: list[Object]) -> list[Object]:
    metadata = {"name": name}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": home.name}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
            "subjects": [subject],
        },
    ]
