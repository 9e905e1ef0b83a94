"""The local backend as the server registers it."""

import socket

from muster.backends.kinds import BackendKind, Builder, Site
from muster.backends.local.backend import LocalBackend
from muster.backends.local.cluster_file import LOCAL_CLUSTERS
from muster.domain.clusters import PhysicalCluster


def _builder(site: Site) -> Builder:
    def build(cluster: PhysicalCluster) -> LocalBackend:
        node, root = socket.gethostname(), site.home / "node"
        return LocalBackend(
            cluster.name,
            node,
            root,
            site.archives,
            site.epoch,
            own_user=site.own_user,
            identity=site.identity,
            log_bytes=site.log_bytes,
            user_ids=site.user_ids,
        )

    return build


LOCAL = BackendKind(LOCAL_CLUSTERS, _builder)
