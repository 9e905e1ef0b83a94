"""What a cluster file says of an SSH cluster and its nodes, beyond what clusters of every backend have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.backends.logins.options import Login
from muster.domain.clusters import PhysicalCluster
from muster.domain.resources import DeviceFiles


@dataclass(frozen=True, slots=True)
class Claims:
    """What the cluster file says a node has. The agent checks it, and a difference raises an alert."""

    gpus: int | None = None
    gpu_models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SshNode:
    """A node as the cluster file describes it. It is a `ClusterNode`."""

    name: str
    login: Login
    address: str | None = None
    """The node's address on the job network. If absent, it is the address of `interface`, or else the one that the
    node's routes would use."""
    interface: str | None = None
    python: str = "python3"
    root: str = ".muster-node"
    """Where the node keeps its tasks. A relative path starts at the home folder of the account."""
    labels: Mapping[str, str] = field(default_factory=dict)
    claims: Claims = field(default_factory=Claims)
    devices: DeviceFiles | None = None
    """Its devices other than GPUs. If it is None, it has those that the cluster names for every node."""
    file: str = field(default="", compare=False)
    """Where the node is written. A node that only moved to another file or line is still the same node."""
    line: int | None = field(default=None, compare=False)

    @property
    def host(self) -> str:
        return self.login.host

    @property
    def shown_login(self) -> str:
        login = self.login
        user, port = f"{login.user}@" if login.user else "", f":{login.port}" if login.port else ""
        return f"{user}{login.host}{port}{f' through {login.jump}' if login.jump else ''}"

    @property
    def audit_facts(self) -> Mapping[str, Any]:
        return {"host": self.login.host, "user": self.login.user, "hostKeys": str(self.login.host_keys)}


@dataclass(frozen=True, slots=True)
class SshOptions:
    """What an SSH cluster has besides its nodes."""

    unreachable_after_s: float = 10.0
    """A node becomes unreachable after this many seconds without a heartbeat."""


def ssh_options(settings: PhysicalCluster) -> SshOptions:
    return settings.options if isinstance(settings.options, SshOptions) else SshOptions()


def ssh_nodes(settings: PhysicalCluster) -> list[SshNode]:
    """The nodes that the cluster should have. A cluster that is leaving has none."""
    return [] if settings.is_leaving else [node for node in settings.nodes if isinstance(node, SshNode)]
