"""What the operator survives: its own death after every single write, its replacement by another replica, a namespace
that is deleted under it, and jobs that make no sense."""

import secrets
from pathlib import Path

import pytest

from muster.operator.control.writer import CRASH_AFTER
from tests.parts.kube import Kube, KubeNamespace, new_namespace, phase
from tests.parts.operator_process import OperatorProcess, running_operator
from tests.parts.paddle_jobs import (
    SUCCEEDS,
    WAITS,
    await_workers,
    install_definition,
    paddle_job,
    paddle_role,
    placed_pods,
)
from tests.parts.server import polls

pytestmark = pytest.mark.kube
PATIENCE_S = 180
MOST_LIVES = 60


@pytest.fixture(scope="module", autouse=True)
def definition(kube: Kube) -> None:
    install_definition(kube)


@pytest.mark.parametrize("intranet", ["PodIP", "Service"])
def test_death_after_every_write_loses_and_doubles_nothing(
    namespace: KubeNamespace, tmp_path: Path, intranet: str
) -> None:
    operator = OperatorProcess(_kubeconfig(namespace), tmp_path / "log", (f"--namespace={namespace.name}",))
    ps, worker = paddle_role(1, WAITS), paddle_role(2, SUCCEEDS)
    namespace.create(paddle_job("job", ps=ps, worker=worker, intranet=intranet, withGloo=1))
    for _ in range(MOST_LIVES):
        operator.start({CRASH_AFTER: "1"})
        for _ in polls(PATIENCE_S):
            if not operator.is_running or _is_done(namespace):
                break
        if _is_done(namespace):
            break
    operator.kill()
    job = namespace.get("PaddleJob", "job")
    assert (phase(job), job["status"]["worker"]["succeeded"]) == ("Completed", 2), operator.said
    assert placed_pods(namespace) == {"job-ps-0": 1, "job-worker-0": 1, "job-worker-1": 1}


def _kubeconfig(namespace: KubeNamespace) -> Path:
    return namespace.kube.cluster.kubeconfig


def _is_done(namespace: KubeNamespace) -> bool:
    return phase(namespace.get("PaddleJob", "job")) == "Completed" and not namespace.all("Pod")


def test_another_replica_takes_over_when_the_leader_dies(namespace: KubeNamespace, tmp_path: Path) -> None:
    arguments = (f"--namespace={namespace.name}", "--leader-elect", f"--leader-elect-namespace={namespace.name}")
    with (
        running_operator(_kubeconfig(namespace), tmp_path / "first", *arguments) as first,
        running_operator(_kubeconfig(namespace), tmp_path / "second", *arguments) as second,
    ):
        namespace.await_object("Lease", "b2a304f2.paddlepaddle.org", lambda one: one["spec"]["holderIdentity"])
        namespace.create(paddle_job("job", worker=paddle_role(1, WAITS)))
        namespace.await_object("PaddleJob", "job", lambda one: phase(one) == "Running", PATIENCE_S)
        leader, other = (first, second) if "synced" in first.said else (second, first)
        assert "synced" not in other.said
        leader.kill()
        namespace.patch("PaddleJob", "job", {"spec": {"worker": {"replicas": 2}}})
        await_workers(namespace, "job", 2)
        assert other.stop() == 0
        lease = namespace.get("Lease", "b2a304f2.paddlepaddle.org")
        assert not lease["spec"].get("holderIdentity"), "a replica that ends gives the lease back"
        assert lease["spec"]["leaseTransitions"] == 1


def test_a_namespace_that_is_deleted_is_left_in_peace(kube: Kube, tmp_path: Path) -> None:
    namespace = new_namespace(kube, f"leaving-{secrets.token_hex(3)}")
    with running_operator(_kubeconfig(namespace), tmp_path / "log", f"--namespace={namespace.name}") as operator:
        namespace.create(paddle_job("job", worker=paddle_role(2, WAITS)))
        namespace.await_object("PaddleJob", "job", lambda one: phase(one) == "Running", PATIENCE_S)
        namespace.remove()
        for _ in polls(PATIENCE_S, every_s=0.5):
            if namespace.name not in {
                one["metadata"]["name"] for one in kube.request("GET", "/api/v1/namespaces")["items"]
            }:
                break
        else:
            raise AssertionError(f"the namespace stays:\n{operator.said}")
        assert operator.is_running
        assert operator.said.count("being terminated") < 10


def test_malformed_jobs_stop_nobody(kube: Kube, namespace: KubeNamespace, tmp_path: Path) -> None:
    """The CRD refuses most nonsense, but annotations and phases of other operators are possible."""
    odd = paddle_job("odd", worker=paddle_role(1, SUCCEEDS), intranet="Host")
    odd["metadata"]["annotations"] = {"host-port": "many"}
    namespace.create(odd)
    namespace.patch("PaddleJob", "odd", {"status": {"phase": "Terminating", "restarts": 0}}, "status")
    namespace.create(paddle_job("even", worker=paddle_role(1, SUCCEEDS)))
    with running_operator(_kubeconfig(namespace), tmp_path / "log", f"--namespace={namespace.name}"):
        for name in ("odd", "even"):
            namespace.await_object("PaddleJob", name, lambda one: phase(one) == "Completed", PATIENCE_S)
