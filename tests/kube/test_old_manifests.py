"""`deploy/v1beta1/operator.yaml`, which is for servers that are too old to run here: a current one accepts every field
of it, under the versions of today."""

import pytest
import yaml

from tests.parts.kube import KubeNamespace
from tests.parts.paddle_jobs import DEPLOY

pytestmark = pytest.mark.kube
TODAY = {"extensions/v1beta1": "apps/v1"}
"""Deployments had the same fields in both."""


def test_the_operator_for_old_servers_has_no_field_that_a_server_does_not_know(namespace: KubeNamespace) -> None:
    text = (DEPLOY / "v1beta1" / "operator.yaml").read_text(encoding="utf-8")
    objects = list(yaml.safe_load_all(text.replace("paddle-system", namespace.name)))
    for one in objects:
        one["apiVersion"] = TODAY.get(one["apiVersion"], one["apiVersion"])
        if "namespace" not in one["metadata"]:  # of the whole cluster, where an operator may be installed
            one["metadata"]["name"] += "-old"
    told = namespace.kubectl(
        "create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=yaml.safe_dump_all(objects)
    )
    made = [line.removesuffix(" created (server dry run)") for line in told.splitlines()]
    assert made == [
        f"namespace/{namespace.name}-old",
        "serviceaccount/paddle-manager-sa",
        "clusterrole.rbac.authorization.k8s.io/paddle-manager-role-old",
        "clusterrole.rbac.authorization.k8s.io/paddle-gang-guard-role-old",
        "clusterrole.rbac.authorization.k8s.io/paddle-podgroup-role-old",
        "clusterrolebinding.rbac.authorization.k8s.io/paddle-manager-rolebinding-old",
        "clusterrolebinding.rbac.authorization.k8s.io/paddle-gang-guard-rolebinding-old",
        "clusterrolebinding.rbac.authorization.k8s.io/paddle-podgroup-rolebinding-old",
        "deployment.apps/paddle-controller-manager",
    ]
