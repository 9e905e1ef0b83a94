"""What is said of a folder that a cluster does not have. A folder of others is as unknown as one that is not there."""

from muster.domain.access import is_open
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.lib.nearest import nearest


def unknown_folder(key: str, path: str, cluster: PhysicalCluster) -> Problem:
    """Only folders that are open to everybody are named: the answer is the same for all users."""
    known = [folder.name for folder in cluster.folders if is_open(folder)]
    name = path.partition("/")[0] or path
    guess = nearest(name, known)
    listed = (
        f"known folders: {', '.join(known)}" if known else "`muster fs ls CLUSTER:` lists the folders that you may use"
    )
    return Problem(
        key, f"cluster {cluster.name} has no folder {name!r}", f"did you mean {guess}? {listed}" if guess else listed
    )
