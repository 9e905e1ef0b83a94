"""The Kubernetes backend as the server registers it."""

from functools import partial

from muster.backends.kinds import BackendKind, Builder, Examination, Site
from muster.backends.kubernetes.cluster_file import KUBERNETES_CLUSTERS
from muster.domain.clusters import PhysicalCluster


def _builder(site: Site) -> Builder:
    """Servers without Kubernetes start faster without its library."""
    from muster.backends.kubernetes.backend import KubernetesBackend

    return partial(
        KubernetesBackend,
        archives=site.archives,
        identity=site.identity,
        home=site.home / "kubernetes",
        log_bytes=site.log_bytes,
        certificate=site.home / "tls.crt",
    )


def _examine(cluster: PhysicalCluster) -> Examination:
    from muster.backends.kubernetes.rights import examine

    return examine(cluster)


KUBERNETES = BackendKind(KUBERNETES_CLUSTERS, _builder, _examine)
