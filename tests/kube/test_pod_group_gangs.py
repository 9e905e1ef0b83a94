"""Gangs of plain pods on a real Kubernetes: without a PodGroup they may start halfway, with one they never do."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.parts.kube import Kube, KubeNamespace, new_namespace
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kubernetes-pod-groups")]


@pytest.fixture(scope="module", params=["none", "kubernetes"])
def site(
    request: pytest.FixtureRequest, kube: Kube, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, MusterServer, KubeNamespace]]:
    base = tmp_path_factory.mktemp("groups")
    namespace = new_namespace(kube, f"muster-groups-{request.param}-{secrets.token_hex(3)}")
    settings = {"scheduling": request.param, "imagePullPolicy": "Never"}
    with server_over(namespace, base / "home", settings) as server:
        yield request.param, server, namespace
    namespace.remove()


def submitted(server: MusterServer, replicas: int, command: list[str], **more: Any) -> str:
    spec = {"name": f"gang-{secrets.token_hex(4)}", "cluster": CLUSTER, "replicas": replicas, "command": command}
    return str(server.submit({**spec, "resources": {"cpu": "50m"}, **more})["id"])


def test_a_gang_of_which_one_pod_fits_nowhere_says_so_and_starts_halfway_only_without_a_group(
    site: tuple[str, MusterServer, KubeNamespace],
) -> None:
    scheduling, server, namespace = site
    nodes = len(namespace.kube.nodes())
    job = submitted(server, nodes + 1, ["sleep", "600"], where={"spread": "apart"}, grace="1s")
    told = ""
    for _ in polls(120):
        told = server.run("explain", job, check=True).stdout
        if "nodes are available" in told:
            break
    assert "nodes are available" in told, "the words of the scheduler"
    pods = namespace.await_all("Pod", lambda found: len(found) == nodes + 1, f"muster/gang={job}.1")
    placed = [pod for pod in pods if pod["spec"].get("nodeName")]
    if scheduling == "none":
        namespace.await_all("Pod", lambda found: any(pod["spec"].get("nodeName") for pod in found))
    else:
        assert placed == []
        assert namespace.kubectl("get", "podgroups.scheduling.k8s.io", "--output=name").split() != []
    server.run("kill", job, check=True)
    assert server.wait(job)["state"] == "Cancelled"
    namespace.await_all("Pod", lambda found: not found)
    namespace.await_gone("ConfigMap", f"muster-{job}-1")


def test_a_gang_that_fits_runs_and_leaves_no_group(site: tuple[str, MusterServer, KubeNamespace]) -> None:
    scheduling, server, namespace = site
    job = submitted(server, 2, ["true"])
    assert server.wait(job, 120)["state"] == "Succeeded", server.run("explain", job).stdout
    namespace.await_gone("ConfigMap", f"muster-{job}-1")
    if scheduling == "kubernetes":
        for _ in polls(60):
            if not namespace.kubectl("get", "podgroups.scheduling.k8s.io", "--output=name").strip():
                return
        raise AssertionError("the group is still there")
