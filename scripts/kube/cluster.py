"""A real Kubernetes cluster on this machine, for tests: started, taken down, and hurt on purpose in between."""

import fcntl
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.kube import claims, control_plane, nodes, processes
from scripts.kube.credentials import make_credentials
from scripts.kube.images import image_archive
from scripts.kube.layout import NODES, Layout
from scripts.kube.processes import CommandFailed, ProcessId, run, wait_until
from scripts.kube.requirements import install_requirements

_NODE_TIMEOUT_S = 240


@dataclass(frozen=True)
class Cluster:
    layout: Layout

    @property
    def kubeconfig(self) -> Path:
        return self.layout.kubeconfig

    @property
    def audit_log(self) -> Path:
        return self.layout.audit_log

    @property
    def env(self) -> dict[str, str]:
        """The environment in which kubectl and helm are found and talk to this cluster."""
        path = os.pathsep.join([str(self.layout.programs), processes.system_environment()["PATH"]])
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "PATH": path}

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl prints. Raises CommandFailed with its words."""
        return run(self.layout.program("kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments, stdin=stdin)

    def apply(self, *objects: object) -> None:
        self.kubectl("apply", "--filename=-", stdin="\n---\n".join(json.dumps(entry) for entry in objects))

    def kill_node(self, name: str) -> None:
        nodes.kill_node(self.layout.node(name))

    def start_node(self, name: str) -> None:
        nodes.start_node(self.layout.node(name), image_archive(self.layout.cache))

    def await_nodes(self, *names: str) -> None:
        """Wait until these nodes are Ready."""
        wait_until(lambda: self._ready_nodes() >= set(names), _NODE_TIMEOUT_S, f"node {' and '.join(names)}")

    def restart_etcd(self) -> None:
        """Kill etcd and start it again on its data. Clients of the API server see errors in between."""
        processes.kill(self.layout, "etcd")
        control_plane.start_storage(self.layout)

    def restart_api_server(self) -> None:
        """Kill the API server and start it again: every connection and every watch breaks."""
        processes.kill(self.layout, "apiserver")
        control_plane.start_storage(self.layout)

    def load_image(self, archive: Path, node_names: Sequence[str] = NODES) -> None:
        """Put an image, packed as `docker save` does, on these nodes."""
        for name in node_names:
            nodes.load_image(self.layout.node(name), archive)

    def _ready_nodes(self) -> set[str]:
        try:
            listed = json.loads(self.kubectl("get", "nodes", "--output=json"))
        except CommandFailed:
            return set()
        return {
            node["metadata"]["name"]
            for node in listed["items"]
            for condition in node["status"].get("conditions", [])
            if condition["type"] == "Ready" and condition["status"] == "True"
        }


def start_cluster(root: Path, owner: ProcessId | None = None, node_names: Sequence[str] = NODES) -> Cluster:
    """Start the cluster whose folder this is, or what of it does not run. It ends with `remove_cluster`; if it has an
    owner that dies before, the next start of any cluster removes it."""
    install_requirements()
    claim = claims.claim_number(root, owner, _remove)
    layout = claim.layout
    layout.root.mkdir(parents=True, exist_ok=True)
    with (layout.root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cluster = Cluster(layout)
        images = image_archive(layout.cache)
        make_credentials(layout)
        nodes.start_bridge(layout)
        control_plane.start_control_plane(layout)
        control_plane.start_dns(layout)
        for name in node_names:
            nodes.start_node(layout.node(name), images)
        cluster.apply(*control_plane.dns_objects(layout))
        cluster.await_nodes(*node_names)
        wait_until(lambda: _has_default_account(cluster), _NODE_TIMEOUT_S, "the default service account")
    return cluster


def remove_cluster(root: Path) -> None:
    """Take the cluster down, also after a crash: processes, network, mounts, cgroups and its folder."""
    claim = claims.existing_claim(root)
    if claim is not None:
        _remove(claim.layout)
        claims.release_number(claim)


def running_cluster(root: Path) -> Cluster | None:
    """The cluster whose folder this is, if its API server is up."""
    claim = claims.existing_claim(root)
    if claim is None or not claim.layout.kubeconfig.exists() or not control_plane.api_server_ready(claim.layout):
        return None
    return Cluster(claim.layout)


def _remove(layout: Layout) -> None:
    processes.kill_all(layout)
    nodes.remove_network(layout)
    nodes.remove_cgroups(layout)
    shutil.rmtree(layout.root, ignore_errors=True)


def _has_default_account(cluster: Cluster) -> bool:
    try:
        cluster.kubectl("get", "serviceaccount", "default", "--namespace=default")
    except CommandFailed:
        return False
    return True
