"""Where a job of the old client may run: `--where` names a cluster or a virtual cluster."""

from muster.client.client import Client
from muster.client.errors import BAD_INPUT, MusterError

_ONE_MACHINE = "local"


def default_servers(client: Client, where: str, nodes: int) -> int:
    """How many parameter servers a job for so many nodes has: one on each, as in the original. On a cluster of one
    machine it is a single one, because all parameter servers of PaddlePaddle v1 have the same port. Raises MusterError
    for a cluster that is not there."""
    clusters = client.clusters()
    physical = {cluster.name: cluster.name for cluster in clusters}
    physical |= {one.name: one.cluster for one in client.virtual_clusters().items}
    if where and where not in physical:
        known = ", ".join(sorted(physical)) or "none"
        raise MusterError(f"there is no cluster {where!r} for you", code=BAD_INPUT, hint=f"there are: {known}")
    chosen = [one for one in clusters if (one.name == physical[where] if where else one.default)]
    return 1 if any(one.backend == _ONE_MACHINE for one in chosen) else nodes
