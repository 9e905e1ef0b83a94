"""The ssh backend as the server registers it."""

from functools import partial

from muster.backends.kinds import BackendKind, Builder, Examination, Site
from muster.backends.ssh.cluster_file.kind import SSH_CLUSTERS
from muster.backends.ssh.machine_identity import Machine, MachineIdentities
from muster.domain.clusters import PhysicalCluster


def _builder(site: Site) -> Builder:
    """All SSH clusters of a server share the identities of machines, as one machine may be a node of several. Servers
    without SSH clusters start faster without the SSH library."""
    from muster.backends.ssh.backend import SshBackend

    return partial(
        SshBackend,
        archives=site.archives,
        identity=site.identity,
        epoch=site.epoch,
        host_keys=site.home / "host-keys",
        machines=MachineIdentities(Machine.of_this_server()),
        own_user=site.own_user,
        log_bytes=site.log_bytes,
        user_ids=site.user_ids,
    )


def _examine(cluster: PhysicalCluster) -> Examination:
    from muster.backends.ssh.examination import examine

    return examine(cluster)


SSH = BackendKind(SSH_CLUSTERS, _builder, _examine)
