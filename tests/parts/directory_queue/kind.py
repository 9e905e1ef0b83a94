"""The directory queue as another distribution would offer it: a schema of its cluster files, and a builder."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from muster.backends.kinds import BackendKind, Builder, Site
from muster.domain.clusters import PhysicalCluster
from muster.settings.cluster_kinds import ClusterKind
from muster.wire.physical_schema import FolderIn, SharedIn
from tests.parts.directory_queue.backend import DirectoryQueueBackend


class DirectoryIn(SharedIn):
    """A queue in a directory."""

    root: str = Field(description="The directory that the engine works off.")


@dataclass(frozen=True, slots=True)
class DirectoryOptions:
    root: Path


def _complete(cluster: PhysicalCluster, model: Any) -> PhysicalCluster:
    return replace(cluster, options=DirectoryOptions(Path(model.root)))


def _builder(site: Site) -> Builder:
    def build(cluster: PhysicalCluster) -> DirectoryQueueBackend:
        assert isinstance(cluster.options, DirectoryOptions)
        return DirectoryQueueBackend(cluster, site.archives, cluster.options.root)

    return build


DIRECTORY = BackendKind(ClusterKind("directory", DirectoryIn, {"folders": FolderIn}, _complete), _builder)
