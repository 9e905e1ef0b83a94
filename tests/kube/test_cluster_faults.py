"""Parts of the cluster die while jobs run: a node, etcd, the API server. One operator serves all namespaces.

This is the only file whose tests may disturb the second cluster: two would disturb each other.
"""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.kube.requirements import ClusterUnavailable
from tests.parts.kube import Kube, KubeNamespace, Object, Refused, new_namespace, phase
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.kube_session import disturbed_cluster
from tests.parts.operator_process import OperatorProcess, running_operator
from tests.parts.paddle_jobs import (
    SUCCEEDS,
    UNTIL_RELEASED,
    await_workers,
    install_definition,
    paddle_job,
    paddle_role,
    release,
)
from tests.parts.pod_history import PodHistory, pod_history
from tests.parts.server import polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("cluster-faults")]


@pytest.fixture(scope="module")
def disturbed() -> Iterator[Kube]:
    """A second cluster, of which these tests kill parts."""
    try:
        kube = Kube(disturbed_cluster())
    except ClusterUnavailable as missing:
        pytest.skip(str(missing))
    install_definition(kube)
    yield kube
    kube.close()


@pytest.fixture(scope="module")
def operator(disturbed: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    """The operator of the whole cluster. It must survive all of these tests."""
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with running_operator(disturbed.cluster.layout.kubeconfig_of("operator"), log) as running:
        yield running
        assert running.is_running, running.said[-4000:]


@pytest.fixture
def place(disturbed: Kube, operator: OperatorProcess) -> Iterator[KubeNamespace]:
    created = new_namespace(disturbed, f"faults-{secrets.token_hex(3)}")
    yield created
    created.remove()


@pytest.fixture
def history(place: KubeNamespace) -> Iterator[PodHistory]:
    with pod_history(place) as followed:
        yield followed


def is_running(job: Object) -> bool:
    return phase(job) == "Running"


def is_completed(job: Object) -> bool:
    return phase(job) == "Completed"


def test_jobs_go_on_when_etcd_and_the_api_server_are_killed(place: KubeNamespace, history: PodHistory) -> None:
    cluster = place.kube.cluster
    place.create(paddle_job("begun", worker=paddle_role(2, UNTIL_RELEASED)))
    place.await_object("PaddleJob", "begun", is_running, timeout_s=120)
    place.create(paddle_job("just-created", worker=paddle_role(2, SUCCEEDS)))
    cluster.restart_etcd()
    place.create(paddle_job("after-etcd", worker=paddle_role(1, SUCCEEDS)))
    cluster.restart_api_server()
    place.patch("PaddleJob", "begun", {"spec": {"worker": {"replicas": 3}}})
    await_workers(place, "begun", 3)
    release(place, "begun-worker-0", "begun-worker-1", "begun-worker-2")
    for name in ("just-created", "after-etcd", "begun"):
        place.await_object("PaddleJob", name, is_completed, timeout_s=120)
    created = history.creations()
    assert set(created.values()) == {1}
    assert len(created) == 6


def test_a_worker_of_a_lost_node_runs_again_on_another_and_the_job_ends(
    disturbed: Kube, place: KubeNamespace, history: PodHistory
) -> None:
    cluster = disturbed.cluster
    place.create(
        paddle_job(
            "job",
            worker=paddle_role(1, UNTIL_RELEASED, **_preferring("n2")),
            ps=paddle_role(1, UNTIL_RELEASED, **_preferring("n1")),
        )
    )
    place.await_object("PaddleJob", "job", is_running, timeout_s=120)
    before = place.get("Pod", "job-worker-0")
    assert before["spec"]["nodeName"] == "n2"
    try:
        cluster.kill_node("n2")
        place.await_object(
            "Pod",
            "job-worker-0",
            lambda found: found["metadata"]["uid"] != before["metadata"]["uid"] and phase(found) == "Running",
            timeout_s=180,
        )
        address = place.get("Pod", "job-worker-0")["status"]["podIP"]
        place.await_object("ConfigMap", "job", lambda found: address in str(found["data"]), timeout_s=120)
        release(place, "job-worker-0")
        place.await_object("PaddleJob", "job", is_completed, timeout_s=120)
        assert history.creations() == {"job-ps-0": 1, "job-worker-0": 2}
    finally:
        cluster.start_node("n2")
        cluster.await_nodes("n1", "n2")


def test_a_muster_job_of_a_lost_node_is_retried_as_a_fault_of_the_platform(
    disturbed: Kube, place: KubeNamespace, tmp_path: Path
) -> None:
    """It is allowed no retry of its own, and none is charged to it."""
    cluster = disturbed.cluster
    (tmp_path / "data").mkdir()
    settings = {"folders": {"data": str(tmp_path / "data")}, "imagePullPolicy": "Never", "lostAfter": "5s"}
    command = "hostname; echo began >> /data/starts; while [ ! -e /data/go ]; do sleep 0.2; done; echo finished"
    spec = {
        "name": f"lost-{secrets.token_hex(3)}",
        "cluster": CLUSTER,
        "command": ["sh", "-c", command],
        "resources": {"cpu": "50m"},
        "mounts": [{"source": "data", "target": "/data"}],
    }
    with server_over(place, tmp_path / "home", settings) as server:
        job = server.submit(spec)["id"]
        server.wait_for_state(job, "Running", timeout_s=120)
        (before,) = server.json("get", "workers", job)["items"]
        try:
            cluster.kill_node(before["node"])
            after = before
            for _ in polls(180):
                (after,) = server.json("get", "workers", job)["items"]
                if after["attempt"] == 2 and after["state"] == "Running":
                    break
            assert (after["attempt"], after["state"]) == (2, "Running"), server.run("explain", job).stdout
            assert after["node"] != before["node"]
            (tmp_path / "data" / "go").touch()
            ended = server.wait(job, 120)
            assert (ended["state"], ended["attempt"]) == ("Succeeded", 2)
            told = server.run("events", job, check=True).stdout
            assert f"node {before['node']} has not been ready for" in told
        finally:
            cluster.start_node(before["node"])
            cluster.await_nodes("n1", "n2")


def test_objects_that_make_no_sense_are_reported_and_do_not_stop_the_loop(
    disturbed: Kube, place: KubeNamespace
) -> None:
    """An older or foreign definition of the resource lets everything in."""
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/paddlejobs.batch.paddlepaddle.org"
    version = disturbed.request("GET", definition)["spec"]["versions"][0]
    everything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    _define(disturbed, definition, {**version, "schema": everything, "subresources": {"status": {}}})
    senseless: dict[str, object] = {
        "text": "hello",
        "list": [1, 2],
        "nothing": None,
        "no-template": {"worker": {"replicas": 2}},
        "many": {"worker": {"replicas": "many", "template": {"spec": {"containers": "x"}}}},
        "negative": {"worker": {"replicas": -1, "template": {"spec": {"containers": [{}]}}}},
        "list-role": {"worker": [], "ps": 7},
    }
    for name, spec in senseless.items():
        _create_until_served(place, {**paddle_job(name), "spec": spec})
    place.create(paddle_job("good", worker=paddle_role(1, SUCCEEDS)))
    place.await_object("PaddleJob", "good", is_completed, timeout_s=120)
    for name in senseless:
        place.await_object("PaddleJob", name, lambda job: job.get("status", {}).get("conditions"))
    assert not [pod for pod in place.all("Pod") if not pod["metadata"]["name"].startswith("good-")]
    _define(disturbed, definition, version)


def _define(kube: Kube, definition: str, version: Object) -> None:
    change = [{"op": "replace", "path": "/spec/versions/0", "value": version}]
    kube.request("PATCH", definition, change, "application/json-patch+json")


def _create_until_served(place: KubeNamespace, job: Object) -> None:
    """Create an object that the former definition refuses, as soon as the new one is in force."""
    for _ in polls(30, every_s=0.2):
        try:
            place.create(job)
        except Refused as error:
            refused = error
        else:
            return
    raise AssertionError(f"the changed definition is not in force: {refused}")


def _preferring(node: str) -> Object:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    preferred = [{"weight": 100, "preference": term}]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}
