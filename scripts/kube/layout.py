"""The names, addresses and folders of one test cluster.

Several clusters may exist on a machine. Each has a number, and everything outside its folder is named by that number:
a bridge, network namespaces and addresses. The control plane's own ports lie on a loopback address of the
number, so nothing but the API server and DNS can be reached from outside this machine's own namespaces.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NUMBERS = range(16)
NODES = ("n1", "n2")
API_SERVICE_ADDRESS = "10.96.0.1"
DNS_SERVICE_ADDRESS = "10.96.0.10"
SERVICE_RANGE = "10.96.0.0/16"


@dataclass(frozen=True)
class Layout:
    number: int
    root: Path
    cache: Path

    @property
    def programs(self) -> Path:
        return self.cache / "bin"

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def logs(self) -> Path:
        return self.root / "log"

    @property
    def pids(self) -> Path:
        return self.root / "pid"

    @property
    def audit_log(self) -> Path:
        """Every write to the API server except those of Kubernetes' own components, one JSON object per line."""
        return self.logs / "audit.log"

    @property
    def bridge(self) -> str:
        return f"mk{self.number}"

    @property
    def address(self) -> str:
        return f"10.215.{self.number}.1"

    @property
    def api_server(self) -> str:
        return f"https://{self.address}:6443"

    @property
    def loopback(self) -> str:
        return f"127.88.{self.number}.1"

    @property
    def pod_range(self) -> str:
        return f"10.216.{self.number * 16}.0/20"

    @property
    def kubeconfig(self) -> Path:
        return self.kubeconfig_of("admin")

    def program(self, name: str) -> str:
        return str(self.programs / name)

    def kubeconfig_of(self, user: str) -> Path:
        return self.pki / f"{user}.kubeconfig"

    def node(self, name: str) -> "NodeLayout":
        return NodeLayout(self, name, NODES.index(name) + 1)


@dataclass(frozen=True)
class NodeLayout:
    cluster: Layout
    name: str
    index: int

    @property
    def folder(self) -> Path:
        return self.cluster.root / self.name

    @property
    def namespace(self) -> str:
        return f"{self.cluster.bridge}-{self.name}"

    @property
    def address(self) -> str:
        return f"10.215.{self.cluster.number}.{10 + self.index}"

    @property
    def pod_range(self) -> str:
        return f"10.216.{self.cluster.number * 16 + self.index}.0/24"

    @property
    def containerd_socket(self) -> Path:
        return self.folder / "run" / "containerd.sock"


def cache_folder(env: Mapping[str, str] = os.environ) -> Path:
    """The folder into which scripts/kube/build.sh builds."""
    return Path(env.get("MUSTER_KUBE") or Path.home() / ".cache" / "muster-kube")


def default_root(env: Mapping[str, str] = os.environ) -> Path:
    """The folder of the cluster of `make kube-up`."""
    return Path(env.get("MUSTER_KUBE_RUN") or "/tmp/muster-kube")
