"""The backend for another Muster server, as the server registers it."""

from functools import partial

from muster.backends.kinds import BackendKind, Builder, Examination, Site
from muster.backends.muster_server.cluster_file import OTHER_SERVER_CLUSTERS
from muster.domain.clusters import PhysicalCluster
from muster.domain.installations import installation_of


def _builder(site: Site) -> Builder:
    """Servers that hand nothing on start faster without the HTTP client."""
    from muster.backends.muster_server.backend import OtherServerBackend

    return partial(
        OtherServerBackend,
        archives=site.archives,
        installation=installation_of(site.identity),
        log_bytes=site.log_bytes,
    )


def _examine(cluster: PhysicalCluster) -> Examination:
    from muster.backends.muster_server.examination import examine

    return examine(cluster)


OTHER_SERVER = BackendKind(OTHER_SERVER_CLUSTERS, _builder, _examine)
