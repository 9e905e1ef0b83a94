"""The pretended cluster as another distribution would offer it: `backend: pretend` with `size` in a cluster file."""

from dataclasses import replace
from typing import Any

from pydantic import Field

from muster.backends.kinds import BackendKind, Builder, Site
from muster.domain.clusters import PhysicalCluster
from muster.settings.cluster_kinds import ClusterKind
from muster.wire.physical_schema import FolderIn, SharedIn
from tests.parts.pretend_cluster.backend import PretendOptions, pretend_backend


class PretendIn(SharedIn):
    """Nodes that do not exist."""

    size: int = Field(default=40, ge=1, le=5000, description="How many nodes.")
    sick: bool = Field(default=False, description="Whether some of them have problems.")


def _complete(cluster: PhysicalCluster, model: Any) -> PhysicalCluster:
    return replace(cluster, options=PretendOptions(model.size, model.sick))


def _builder(site: Site) -> Builder:
    return pretend_backend


PRETEND = BackendKind(ClusterKind("pretend", PretendIn, {"folders": FolderIn}, _complete), _builder)
