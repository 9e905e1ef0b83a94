"""A service account with the rights that `deploy/v1/operator.yaml` gives an operator, or some of them."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.parts.kube import KubeNamespace, Object
from tests.parts.paddle_jobs import DEPLOY

_RBAC = "rbac.authorization.k8s.io"


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
        config = json.loads(namespace.kube.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": namespace.kubectl("create", "token", "operator").strip()}
        kubeconfig = folder / "operator.kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        yield kubeconfig
    finally:
        namespace.kubectl("delete", "-f", "-", stdin=text)


def _role(namespace: KubeNamespace, name: str, kind: str) -> list[Object]:
    given = yaml.safe_load_all((DEPLOY / "v1" / "operator.yaml").read_text(encoding="utf-8"))
    rules = next(one["rules"] for one in given if one["metadata"]["name"] == f"paddle-{name}-role")
    metadata = {"name": f"{name}-{namespace.name}"}
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": namespace.name}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": metadata["name"]},
            "subjects": [subject],
        },
    ]
