"""A service account with exactly the rights that the guide to Kubernetes clusters asks for."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.parts.kube import KubeNamespace, Object

_GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "kubernetes.md"
_WITHIN, _EVERYWHERE = "# in the namespace of the tasks", "# in the whole cluster"
_RBAC = "rbac.authorization.k8s.io"
_NAME = "muster"


@contextlib.contextmanager
def guide_account(namespace: KubeNamespace, folder: Path, *, without: str = "") -> Iterator[Path]:
    """The kubeconfig of the account, which may work in this namespace. It lacks the right to `without`."""
    within, everywhere = ([one for one in rules if without not in one["resources"]] for rules in _rules())
    objects: list[Object] = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _NAME}}]
    objects += [*_role(namespace, "Role", within), *_role(namespace, "ClusterRole", everywhere)]
    text = yaml.safe_dump_all(objects)
    namespace.kubectl("create", "-f", "-", stdin=text)
    try:
        config = json.loads(namespace.kube.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": namespace.kubectl("create", "token", _NAME).strip()}
        kubeconfig = folder / "guide.kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        yield kubeconfig
    finally:
        namespace.kubectl("delete", "-f", "-", stdin=text)


def _rules() -> tuple[list[Any], list[Any]]:
    block = next(one for one in _GUIDE.read_text(encoding="utf-8").split("```") if _WITHIN in one)
    within, _, everywhere = block.removeprefix("yaml").partition(_EVERYWHERE)
    return yaml.safe_load(within), yaml.safe_load(everywhere)


def _role(namespace: KubeNamespace, kind: str, rules: list[Any]) -> list[Object]:
    metadata = {"name": f"{_NAME}-{namespace.name}"}
    subject = {"kind": "ServiceAccount", "name": _NAME, "namespace": namespace.name}
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
