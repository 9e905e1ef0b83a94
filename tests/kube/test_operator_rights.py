"""The operator works with exactly the rights that `deploy/v1/operator.yaml` gives it, and uses all of them."""

import contextlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parts.kube import Kube, KubeNamespace, Refused, new_namespace
from tests.parts.operator_account import Right, granted, manifests
from tests.parts.operator_process import running_operator
from tests.parts.paddle_jobs import SUCCEEDS, WAITS, install_definition, paddle_job, paddle_role
from tests.parts.server import polls
from tests.parts.volcano import API, install_volcano

pytestmark = pytest.mark.kube
ACCOUNT = "paddle-manager-sa"
WITHIN_S = 60


@pytest.fixture
def account(namespace: KubeNamespace, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of the service account with the roles of the file, moved to the test's namespace."""
    install_definition(namespace.kube)
    objects = [one for one in manifests() if one["kind"] not in ("Namespace", "Deployment")]
    for one in objects:
        if "namespace" not in one["metadata"]:  # of the whole cluster
            one["metadata"]["name"] += f"-{namespace.name}"
        if one.get("roleRef", {}).get("kind") == "ClusterRole":
            one["roleRef"]["name"] += f"-{namespace.name}"
    text = yaml.safe_dump_all(objects).replace("paddle-system", namespace.name)
    namespace.kubectl("create", "-f", "-", stdin=text)
    config = json.loads(namespace.kube.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": namespace.kubectl("create", "token", ACCOUNT).strip()}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    yield kubeconfig
    namespace.kubectl("delete", "-f", "-", stdin=text)


@pytest.fixture
def grouped(namespace: KubeNamespace) -> Iterator[dict[str, KubeNamespace]]:
    """A namespace for the operator with each kind of PodGroups."""
    install_volcano(namespace.kube)
    made = {kind: new_namespace(namespace.kube, f"{kind}-{secrets.token_hex(3)}") for kind in ("volcano", "kubernetes")}
    yield made
    for one in made.values():
        one.remove()


def used(kube: Kube, namespace: str) -> dict[Right, str]:
    """What the operator has asked the API server for, and whether it was allowed, from the audit log."""
    found: dict[Right, str] = {}
    for line in kube.cluster.audit_log.read_text(encoding="utf-8").splitlines():
        if ACCOUNT not in line or namespace not in line:
            continue
        event = json.loads(line)
        about = event.get("objectRef")
        if event["user"]["username"] == f"system:serviceaccount:{namespace}:{ACCOUNT}" and about is not None:
            resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
            right = (about.get("apiGroup", ""), resource, event["verb"])
            found[right] = event["annotations"]["authorization.k8s.io/decision"]
    return found


def phase(job: dict[str, Any]) -> str:
    return str(job.get("status", {}).get("phase"))


def test_the_operator_needs_each_of_its_rights_and_no_others(
    namespace: KubeNamespace, grouped: dict[str, KubeNamespace], account: Path, tmp_path: Path
) -> None:
    log = tmp_path / "operator.log"
    election = ("--leader-elect", f"--leader-elect-namespace={namespace.name}")
    with contextlib.ExitStack() as operators:
        operators.enter_context(running_operator(account, log, f"--namespace={namespace.name}", *election))
        for kind, one in grouped.items():
            started = running_operator(account, log, f"--namespace={one.name}", f"--scheduling={kind}")
            operators.enter_context(started)
        use_pod_groups(grouped)
        use_everything_else(namespace)
        found: dict[Right, str] = {}
        for _ in polls(60):
            found = used(namespace.kube, namespace.name)
            if set(found) >= granted():
                break
    refused = {right for right, decision in found.items() if decision != "allow"}
    assert refused == set(), log.read_text()[-3000:]
    assert granted() - set(found) == set(), "rights that the operator has and never uses"


def use_pod_groups(namespaces: dict[str, KubeNamespace]) -> None:
    """A group is made for a job, changed with it, and deleted while the job is suspended."""
    path = {
        kind: f"/apis/{api}/namespaces/{namespaces[kind].name}/podgroups/gang"
        for kind, api in (("volcano", API), ("kubernetes", "scheduling.k8s.io/v1alpha2"))
    }
    for kind, namespace in namespaces.items():
        namespace.create(paddle_job("gang", worker=paddle_role(2, WAITS)))
        await_there(namespace.kube, path[kind])
    groups = namespaces["volcano"]
    groups.patch("PaddleJob", "gang", {"spec": {"worker": {"replicas": 3}}})
    for _ in polls(WITHIN_S):
        if groups.kube.request("GET", path["volcano"])["spec"]["minMember"] == 3:
            break
    for kind, namespace in namespaces.items():
        namespace.patch("PaddleJob", "gang", {"spec": {"suspend": True}})
        await_there(namespace.kube, path[kind], is_there=False)


def use_everything_else(namespace: KubeNamespace) -> None:
    servers, workers = paddle_role(1, WAITS), paddle_role(2, SUCCEEDS)
    for one in (
        paddle_job("pod-ip", ps=servers, worker=workers),
        paddle_job("service", intranet="Service", ps=servers, worker=workers, cleanPodPolicy="Always"),
        paddle_job("host", intranet="Host", worker=paddle_role(1, SUCCEEDS), ttlSecondsAfterFinished=0),
        paddle_job("scaled", worker=paddle_role(2, WAITS)),
    ):
        namespace.create(one)
    for name in ("pod-ip", "service"):
        namespace.await_object("PaddleJob", name, lambda one: phase(one) == "Completed", WITHIN_S)
    namespace.await_all("Service", lambda found: not found, timeout_s=WITHIN_S)
    namespace.await_gone("PaddleJob", "host", WITHIN_S)
    namespace.await_object("PaddleJob", "scaled", lambda one: phase(one) == "Running", WITHIN_S)
    namespace.patch("PaddleJob", "scaled", {"spec": {"worker": {"replicas": 1}}})
    namespace.await_gone("Pod", "scaled-worker-1", WITHIN_S)
    namespace.delete("PaddleJob", "scaled")
    namespace.await_all("Pod", lambda found: not found, timeout_s=WITHIN_S)


def await_there(kube: Kube, path: str, *, is_there: bool = True) -> None:
    for _ in polls(WITHIN_S):
        try:
            kube.request("GET", path)
        except Refused as error:
            if error.status != 404:
                raise
            if not is_there:
                return
        else:
            if is_there:
                return
    raise AssertionError(f"{path} is {'not there' if is_there else 'still there'}")
