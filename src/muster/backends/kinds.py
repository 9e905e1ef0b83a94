"""The kinds of backends: how their clusters are written in files, and how the backend of such a cluster is made.

A backend is a package with a `BackendKind`, and one line in `muster.bootstrap.backend_kinds`. The backend of another
distribution is a `BackendKind` that the distribution offers as an entry point of the group `muster.backends`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from muster.domain.clusters import PhysicalCluster
from muster.ports.archives import Archives
from muster.ports.backend import Backend
from muster.ports.user_ids import UserIds, no_user_ids
from muster.settings.cluster_kinds import ClusterKind


@dataclass(frozen=True, slots=True)
class Site:
    """What backends may know about the server that they are part of."""

    home: Path
    """The server's own folder. A backend keeps what it has to in a folder or file of its own there."""
    identity: str
    """Distinguishes this server from others that use the same machines."""
    archives: Archives
    """The packages and inputs that tasks need."""
    epoch: int = 0
    """The term of the server. Nodes obey a server only if they know of no later term."""
    own_user: str = ""
    """The Muster user to whom the Unix account of the server belongs. Their tasks may do what the account may do."""
    log_bytes: int | None = None
    """How much is kept of one task's log. None: everything."""
    user_ids: UserIds = no_user_ids
    output_bytes: int = 1 << 60
    """How much is kept of the outputs of one job."""


Builder = Callable[[PhysicalCluster], Backend]
"""Makes the backend of a cluster, which does not connect to nodes yet."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What a cluster said about its settings."""

    notes: Sequence[str] = ()
    """How it was reached, where the file leaves that open."""
    failures: Sequence[str] = ()
    """Why no job could run."""
    warnings: Sequence[str] = ()
    """What does not work, or is not known, although jobs can run."""


@dataclass(frozen=True, slots=True)
class BackendKind:
    clusters: ClusterKind
    builder: Callable[[Site], Builder]
    """Called once for a server, so that what all clusters of the kind share is made once."""
    examine: Callable[[PhysicalCluster], Examination] | None = None
    """Asks a cluster itself what its settings lack, such as rights of an account. None if there is nothing to ask."""
    notes: Callable[[PhysicalCluster], Sequence[str]] | None = None
    """Says what a reader of the cluster's file should know and the file does not show, without asking the cluster."""

    @property
    def name(self) -> str:
        return self.clusters.name
