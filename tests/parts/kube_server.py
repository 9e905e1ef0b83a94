"""A real Muster server that has a real Kubernetes cluster, in a namespace of its own."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.parts.kube import KubeNamespace
from tests.parts.ports import free_port
from tests.parts.server import MusterServer, polls

CLUSTER, PADDLE_CLUSTER = "k8s", "k8s-paddle"


@contextmanager
def server_over(
    namespace: KubeNamespace, home: Path, settings: Mapping[str, Any] | None = None
) -> Iterator[MusterServer]:
    """The cluster is there twice: as k8s, where gangs are pods, and as k8s-paddle, where they are PaddleJobs. Pods
    reach the server by the address of this machine on their network."""
    kubeconfig = namespace.kube.cluster.kubeconfig
    address = urlsplit(json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]).hostname
    port = free_port()
    (home / "clusters.d").mkdir(parents=True)
    (home / "config.yaml").write_text(f"host: 0.0.0.0\npublicUrl: http://{address}:{port}\n")
    document = {
        "backend": "kubernetes",
        "kubeconfig": str(kubeconfig),
        "namespace": namespace.name,
        "image": "local/python:1",
        **(settings or {}),
    }
    for name, jobs in ((CLUSTER, "pods"), (PADDLE_CLUSTER, "paddlejob")):
        (home / "clusters.d" / f"{name}.yaml").write_text(yaml.safe_dump({**document, "jobs": jobs}))
    server = MusterServer(home, {"MUSTER_LOG_FILE": "server.log"}, port=port)
    server.start()
    try:
        await_cluster(server)
        yield server
    finally:
        server.stop()


def await_cluster(server: MusterServer) -> None:
    """Wait until the cluster takes jobs."""
    clusters: list[Any] = []
    for _ in polls(120):
        clusters = server.json("get", "clusters")["items"]
        if {CLUSTER, PADDLE_CLUSTER} <= {one["name"] for one in clusters if one["state"] == "Ready"}:
            return
    raise AssertionError(f"the cluster is not ready: {clusters}\n{server.home.joinpath('server.log').read_text()}")
