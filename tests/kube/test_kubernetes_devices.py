"""Devices other than GPUs on a real Kubernetes: refused where nobody offers them, asked for, and waited for."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.kube import Kube, KubeNamespace
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.kube_slots import Slots
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kubernetes-backend")]
LONG = ["sleep", "600"]


@pytest.fixture
def slots(kube: Kube) -> Iterator[Slots]:
    found = Slots(kube)
    yield found
    found.offer(None, None)


@pytest.fixture
def server(namespace: KubeNamespace, tmp_path: Path) -> Iterator[MusterServer]:
    with server_over(namespace, tmp_path / "home", {"imagePullPolicy": "Never"}) as found:
        yield found


def a_spec(slots: Slots, count: int = 1) -> dict[str, Any]:
    return {
        "name": f"job-{secrets.token_hex(4)}",
        "cluster": CLUSTER,
        "command": LONG,
        "resources": {"cpu": "50m", "devices": {slots.name: count}},
    }


def explained(server: MusterServer, job: str, words: str) -> str:
    """What `muster explain` says, as soon as it has these words."""
    told = ""
    for _ in polls(60):
        told = server.run("explain", job, check=True).stdout
        if words in told:
            break
    assert words in told
    return told


def a_waiting_job(server: MusterServer, slots: Slots) -> str:
    """A job that Muster keeps back for want of a device. One that was handed over before the server knew who has the
    device is stopped."""
    told = ""
    for _ in polls(60):
        job = str(server.submit(a_spec(slots))["id"])
        for _ in polls(60):
            told = server.run("explain", job, check=True).stdout
            if f"needs 1 {slots.name}; 0 free now" in told:
                return job
            if "is Starting" in told:
                break
        server.run("kill", job, check=True)
        server.wait(job)
    raise AssertionError(told)


def devices_of(server: MusterServer, slots: Slots) -> list[dict[str, Any]]:
    nodes = [one for one in server.json("get", "nodes")["items"] if one["cluster"] == CLUSTER]
    return [device for node in nodes for device in node["devices"] if device["resource"] == slots.name]


def offer(server: MusterServer, slots: Slots, *amounts: int) -> None:
    """Returns when the server knows it."""
    slots.offer(*amounts)
    for _ in polls(60):
        if len(devices_of(server, slots)) == sum(amounts):
            return
    raise AssertionError(f"the server never saw {amounts} of {slots.name}")


def test_devices_are_refused_asked_for_and_waited_for(
    server: MusterServer, namespace: KubeNamespace, slots: Slots
) -> None:
    status, refused = server.call("POST", "/api/v1/jobs", {"spec": a_spec(slots)})
    assert status == 422
    assert f"it asks for {slots.name}, and the cluster offers" in refused["detail"]

    offer(server, slots, 1, 1)
    status, refused = server.call("POST", "/api/v1/jobs", {"spec": a_spec(slots, 2)})
    assert (status, "and there are at most 1 on one node" in refused["detail"]) == (422, True)

    first, second, third = (server.submit(a_spec(slots))["id"] for _ in range(3))
    for job in (first, second):
        assert server.wait_for_state(job, "Running", timeout_s=120)["resources"]["devices"] == {slots.name: 1}
    pod = namespace.get("Pod", f"muster-{first}-1-worker-0")
    given = pod["spec"]["containers"][0]["resources"]
    assert (given["limits"][slots.name], given["requests"][slots.name]) == ("1", "1")
    explained(server, third, f"needs 1 {slots.name}; 0 free now")

    server.run("kill", first, check=True)
    server.wait_for_state(third, "Running", timeout_s=120)


def test_what_pods_of_others_use_is_not_free(server: MusterServer, namespace: KubeNamespace, slots: Slots) -> None:
    offer(server, slots, 1, 0)
    container = {
        "name": "main",
        "image": "local/python:1",
        "imagePullPolicy": "Never",
        "command": LONG,
        "resources": {"limits": {slots.name: "1"}},
    }
    pod = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    namespace.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"}, "spec": pod})
    namespace.await_all("Pod", lambda pods: any(one["spec"].get("nodeName") for one in pods))

    job = a_waiting_job(server, slots)
    namespace.delete("Pod", "other", grace_s=0)
    server.wait_for_state(job, "Running", timeout_s=120)
