"""Folders of cluster files, read with the backends that Muster has."""

from pathlib import Path

from muster.bootstrap.backend_kinds import cluster_kinds
from muster.settings.clusters import ClusterFolder


def cluster_folder(path: Path, *physical: str) -> ClusterFolder:
    """`physical` are the clusters that exist without a file; by default the server's own machine."""
    return ClusterFolder(path, physical or ("local",), cluster_kinds())
