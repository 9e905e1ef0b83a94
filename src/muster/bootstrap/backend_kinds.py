"""The list of backends that a server offers. A new backend is its own package, plus one line here."""

from muster.backends.kinds import BackendKind
from muster.backends.local.kind import LOCAL
from muster.backends.ssh.kind import SSH
from muster.settings.cluster_kinds import ClusterKinds

BUILT_IN = (LOCAL, SSH)


def cluster_kinds(kinds: tuple[BackendKind, ...] = BUILT_IN) -> ClusterKinds:
    return ClusterKinds(tuple(kind.clusters for kind in kinds))
