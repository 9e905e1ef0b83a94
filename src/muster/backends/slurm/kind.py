"""The Slurm backend as the server registers it."""

from functools import partial

from muster.backends.kinds import BackendKind, Builder, Examination, Site
from muster.backends.slurm.cluster_file import SLURM_CLUSTERS
from muster.backends.slurm.options import SubmitAs, slurm_options
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


def unused_files(cluster: PhysicalCluster) -> list[str]:
    """What lies beside the keys of users and is no login."""
    options = slurm_options(cluster)
    if options.submit_as is not SubmitAs.LOGIN:
        return []
    left_out = options.user_logins.left_out()
    return [f"not taken for logins in {folder}: {', '.join(files)}" for folder, files in left_out]


SLURM = BackendKind(SLURM_CLUSTERS, _builder, _examine, unused_files)
