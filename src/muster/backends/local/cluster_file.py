"""How the server's own machine is written in cluster files, which need not mention it."""

from muster.settings.cluster_kinds import ClusterKind
from muster.wire.physical_schema import FolderIn, SharedIn

LOCAL = "local"
"""The name of the backend, and of its only cluster."""


class LocalIn(SharedIn):
    """The server's own machine."""


LOCAL_CLUSTERS = ClusterKind(LOCAL, LocalIn, {"folders": FolderIn}, own_cluster=LOCAL)
