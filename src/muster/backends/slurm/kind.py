"""The Slurm backend as the server registers it."""

from functools import partial

from muster.backends.kinds import BackendKind, Builder, Examination, Site
from muster.backends.slurm.cluster_file import SLURM_CLUSTERS
from muster.domain.clusters import PhysicalCluster


def _builder(site: Site) -> Builder:
    """Servers without Slurm start faster without it."""
    from muster.backends.slurm.backend import SlurmBackend

    return partial(
        SlurmBackend,
        archives=site.archives,
        identity=site.identity,
        epoch=site.epoch,
        home=site.home / "slurm",
        log_bytes=site.log_bytes,
        output_bytes=site.output_bytes,
    )


def _examine(cluster: PhysicalCluster) -> Examination:
    from muster.backends.slurm.examination import examine

    return examine(cluster)


SLURM = BackendKind(SLURM_CLUSTERS, _builder, _examine)
