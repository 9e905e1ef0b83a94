"""The settings of a cluster that is another Muster server, which only its backend knows."""

from dataclasses import dataclass
from pathlib import Path

from muster.domain.clusters import PhysicalCluster

STORAGE = "storage:"
"""What stands before the name of a storage of the other server in the source of a mount."""


@dataclass(frozen=True, slots=True)
class OtherServerOptions:
    servers: tuple[str, ...]
    """The addresses of the other installation, each as good as the others."""
    token_file: Path
    cluster: str
    """The cluster there, virtual or physical."""
    ca_file: Path | None = None
    """The certificates that its own is checked against. None: those of this machine."""
    head_start: int = 1
    """How many of its largest nodes may be handed over beyond what is free there."""
    poll_s: float = 5.0

    @property
    def shown_servers(self) -> str:
        return " or ".join(self.servers)


def other_server_options(cluster: PhysicalCluster) -> OtherServerOptions:
    assert isinstance(cluster.options, OtherServerOptions)
    return cluster.options
