"""The list of backends that a server offers: Muster's own, and those of other distributions.

A new backend of Muster's own is its package, plus one line here.
"""

from muster.backends.kinds import BackendKind
from muster.backends.kubernetes.kind import KUBERNETES
from muster.backends.local.kind import LOCAL
from muster.backends.muster_server.kind import OTHER_SERVER
from muster.backends.slurm.kind import SLURM
from muster.backends.ssh.kind import SSH
from muster.bootstrap.plugins import BACKENDS, Plugins, load_plugins
from muster.settings.cluster_kinds import ClusterKinds

BUILT_IN = (LOCAL, SSH, KUBERNETES, SLURM, OTHER_SERVER)


def backend_kinds() -> Plugins[BackendKind]:
    plugins = load_plugins(BACKENDS, BackendKind, [kind.name for kind in BUILT_IN])
    return Plugins((*BUILT_IN, *plugins.found), plugins.problems)


def cluster_kinds(kinds: tuple[BackendKind, ...] = BUILT_IN) -> ClusterKinds:
    return ClusterKinds(tuple(kind.clusters for kind in kinds))
