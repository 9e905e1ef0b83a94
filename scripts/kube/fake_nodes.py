"""Nodes that only pretend: KWOK answers for them, and their pods change state by the stages of a file."""

from pathlib import Path

from scripts.kube import processes
from scripts.kube.cluster import Cluster

FAKE = {"kwok.x-k8s.io/node": "fake"}
"""The annotation of every fake node, its label, and its taint, which keeps other pods away."""
_CAPACITY = {"cpu": "256", "memory": "1024Gi", "pods": "2000"}


def start_fake_nodes(cluster: Cluster, count: int, pod_stages: str) -> None:
    """Add fake nodes to a cluster. Pods run on them if they tolerate the taint and select the label FAKE."""
    layout = cluster.layout
    stages = layout.root / "stages.yaml"
    stages.write_text(f"{_node_stages(layout.cache)}\n---\n{pod_stages}")
    processes.start(
        layout,
        "kwok",
        [
            layout.program("kwok"),
            f"--kubeconfig={layout.kubeconfig_of('kwok')}",
            f"--config={stages}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--node-lease-duration-seconds=40",
            f"--server-address={layout.loopback}:10247",
        ],
    )
    names = [f"fake-{index}" for index in range(count)]
    cluster.apply(*(_node(name) for name in names))
    cluster.await_nodes(*names)


def toleration() -> dict[str, str]:
    return {"key": "kwok.x-k8s.io/node", "operator": "Exists", "effect": "NoSchedule"}


def _node(name: str) -> dict[str, object]:
    taint = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": FAKE, "labels": {**FAKE, "kubernetes.io/hostname": name}},
        "spec": {"taints": [taint]},
        "status": {"capacity": _CAPACITY, "allocatable": _CAPACITY},
    }


def _node_stages(cache: Path) -> str:
    """The stages of KWOK itself that keep a node Ready."""
    stages = (cache / "kwok" / "stages.yaml").read_text().split("\n---\n")
    return "\n---\n".join(stage for stage in stages if "kind: Node" in stage)
