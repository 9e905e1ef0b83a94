"""Jobs find the nodes that have their model of GPU, by the label and the resource that the makers' plugins set."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts.kube import Kube, KubeNamespace, new_namespace
from tests.parts.kube_server import CLUSTER, server_over
from tests.parts.server import MusterServer, polls

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("gpu-nodes")]
GPUS = {"n1": ("NVIDIA-A100-SXM4-80GB", 2), "n2": ("Tesla-T4", 1)}
RESOURCE, PRODUCT = "nvidia.com~1gpu", "nvidia.com~1gpu.product"


@pytest.fixture(scope="module")
def site(kube: Kube, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MusterServer, KubeNamespace]]:
    """The nodes say that they have GPUs, as they do with a device plugin. The kubelet keeps what others say."""
    namespace = new_namespace(kube, f"gpu-nodes-{secrets.token_hex(3)}")
    try:
        for node, (product, count) in GPUS.items():
            _patch(kube, f"nodes/{node}", "add", f"/metadata/labels/{PRODUCT}", product)
            for part in ("capacity", "allocatable"):
                _patch(kube, f"nodes/{node}/status", "add", f"/status/{part}/{RESOURCE}", str(count))
        home: Path = tmp_path_factory.mktemp("gpu-nodes") / "home"
        with server_over(namespace, home, {"imagePullPolicy": "Never"}) as server:
            _await_gpus(server)
            yield server, namespace
    finally:
        namespace.remove()
        for node in GPUS:
            _patch(kube, f"nodes/{node}", "remove", f"/metadata/labels/{PRODUCT}")
            for part in ("capacity", "allocatable"):
                _patch(kube, f"nodes/{node}/status", "remove", f"/status/{part}/{RESOURCE}")


def _patch(kube: Kube, path: str, operation: str, place: str, value: str | None = None) -> None:
    change = [{"op": operation, "path": place, **({} if value is None else {"value": value})}]
    kube.request("PATCH", f"/api/v1/{path}", change, "application/json-patch+json")


def _await_gpus(server: MusterServer) -> None:
    models: dict[str, list[str]] = {}
    for _ in polls(60):
        nodes = [one for one in server.json("get", "nodes")["items"] if one["cluster"] == CLUSTER]
        models = {one["name"]: [gpu["model"] for gpu in one["gpus"]] for one in nodes}
        if models.get("n1") == ["A100", "A100"] and models.get("n2") == ["T4"]:
            return
    raise AssertionError(f"the GPUs are not seen: {models}")


def submitted(server: MusterServer, **resources: Any) -> str:
    spec = {
        "name": f"gpu-{secrets.token_hex(3)}",
        "cluster": CLUSTER,
        "command": ["sleep", "600"],
        "resources": {"cpu": "50m", **resources},
    }
    return str(server.submit(spec)["id"])


def node_of(server: MusterServer, job: str) -> str:
    server.wait_for_state(job, "Running", timeout_s=120)
    (worker,) = server.json("get", "workers", job)["items"]
    return str(worker["node"])


@pytest.mark.parametrize(("model", "node"), [("A100", "n1"), ("T4", "n2")])
def test_a_job_runs_where_its_model_is(site: tuple[MusterServer, KubeNamespace], model: str, node: str) -> None:
    server, namespace = site
    job = submitted(server, gpu=1, gpuType=model)
    assert node_of(server, job) == node
    pod = namespace.get("Pod", f"muster-{job}-1-worker-0")
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    server.run("kill", job, check=True)
    assert server.wait(job)["state"] == "Cancelled"


def test_one_of_several_models_is_enough_and_what_is_taken_is_waited_for(
    site: tuple[MusterServer, KubeNamespace],
) -> None:
    server, _ = site
    first = submitted(server, gpu=2, gpuType="A100")
    assert node_of(server, first) == "n1"
    either = submitted(server, gpu=1, gpuType=["A100", "T4"])
    assert node_of(server, either) == "n2"
    waiting = submitted(server, gpu=1, gpuType="A100")
    told = ""
    for _ in polls(60):
        told = server.run("explain", waiting, check=True).stdout
        if "0 free now" in told:
            break
    assert "needs 1 GPU of model A100; 0 free now" in told
    server.run("kill", first, check=True)
    assert node_of(server, waiting) == "n1"
    for job in (either, waiting):
        server.run("kill", job, check=True)
        assert server.wait(job)["state"] == "Cancelled"


def test_more_than_one_node_has_is_refused_at_once(site: tuple[MusterServer, KubeNamespace]) -> None:
    server, _ = site
    spec = {"name": "huge", "cluster": CLUSTER, "command": "true", "resources": {"gpu": 3, "gpuType": "A100"}}
    status, answer = server.call("POST", "/api/v1/jobs", {"spec": spec})
    assert (status, answer["code"]) == (422, "unplaceable")
    assert "asks for 3 A100 GPUs, and there are at most 2 on one node" in answer["detail"]
