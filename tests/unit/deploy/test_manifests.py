"""The files that install the operator agree with each other, with the version and with the names that users know."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.version import __version__
from scripts.paddlejob_crd.definition import current, written

pytestmark = pytest.mark.fast
DEPLOY = Path(__file__).parents[3] / "deploy"
CHART = DEPLOY / "helm" / "paddle-operator"
EXAMPLES = [
    "resnet.yaml",
    "wide_and_deep.yaml",
    "wide_and_deep_podip.yaml",
    "wide_and_deep_service.yaml",
    "wide_and_deep_volcano.yaml",
]


def manifests(folder: str) -> dict[tuple[str, str], Any]:
    documents = yaml.safe_load_all((DEPLOY / folder / "operator.yaml").read_text(encoding="utf-8"))
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


def container(deployment: Any) -> Any:
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return only


def test_the_operator_has_the_names_of_paddle_operator() -> None:
    assert list(manifests("v1")) == [
        ("Namespace", "paddle-system"),
        ("ServiceAccount", "paddle-manager-sa"),
        ("Role", "paddle-leader-election-role"),
        ("ClusterRole", "paddle-manager-role"),
        ("ClusterRole", "paddle-gang-guard-role"),
        ("ClusterRole", "paddle-podgroup-role"),
        ("RoleBinding", "paddle-leader-election-rolebinding"),
        ("ClusterRoleBinding", "paddle-manager-rolebinding"),
        ("ClusterRoleBinding", "paddle-gang-guard-rolebinding"),
        ("ClusterRoleBinding", "paddle-podgroup-rolebinding"),
        ("Deployment", "paddle-controller-manager"),
    ]


@pytest.mark.parametrize("folder", ["v1", "v1beta1"])
def test_the_deployment_watches_one_namespace_with_the_image_of_this_version(folder: str) -> None:
    manager = container(manifests(folder)["Deployment", "paddle-controller-manager"])
    assert manager["command"] == ["muster", "operator"]
    assert "--namespace=paddle-system" in manager["args"]
    assert manager["image"] == f"muster:{__version__}"


def test_old_servers_get_one_operator_with_the_same_rights_and_without_leases() -> None:
    new, old = manifests("v1"), manifests("v1beta1")
    for name in ("manager", "gang-guard", "podgroup"):
        assert old["ClusterRole", f"paddle-{name}-role"] == new["ClusterRole", f"paddle-{name}-role"]
    assert set(new) - set(old) == {
        ("Role", "paddle-leader-election-role"),
        ("RoleBinding", "paddle-leader-election-rolebinding"),
    }
    deployment = old["Deployment", "paddle-controller-manager"]
    assert deployment["apiVersion"] == "extensions/v1beta1"
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert "--leader-elect" not in container(deployment)["args"]
    assert "seccompProfile" not in deployment["spec"]["template"]["spec"]["securityContext"]  # since 1.19


def test_the_chart_has_the_same_definition_and_the_same_rights(golden: Callable[[Path, str], None]) -> None:
    golden(CHART / "files" / "crd.yaml", written(current()))
    objects = manifests("v1")
    for role, name in (
        (("ClusterRole", "paddle-manager-role"), "manager-rules.yaml"),
        (("ClusterRole", "paddle-gang-guard-role"), "gang-guard-rules.yaml"),
        (("ClusterRole", "paddle-podgroup-role"), "podgroup-rules.yaml"),
        (("Role", "paddle-leader-election-role"), "leader-election-rules.yaml"),
    ):
        golden(CHART / "files" / name, yaml.safe_dump(objects[role]["rules"], sort_keys=False, default_flow_style=None))


def test_the_chart_has_this_version_and_the_values_that_paddle_operator_has() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    assert values["image"] == f"muster:{__version__}"
    assert (values["controllernamespace"], values["jobnamespace"]) == ("paddle-system", "paddle-system")


def test_the_examples_have_the_names_that_users_know() -> None:
    assert sorted(path.name for path in (DEPLOY / "examples").iterdir()) == EXAMPLES
