"""How the server's own machine is written in cluster files, which need not mention it."""

from dataclasses import replace

from pydantic import Field

from muster.domain.clusters import PhysicalCluster
from muster.settings.cluster_kinds import ClusterKind
from muster.wire.physical_clusters import isolation_of, script_problems, scripts_of
from muster.wire.physical_schema import AGENT_PARTS, IsolatingIn, device_files

LOCAL = "local"
"""The name of the backend, and of its only cluster."""


class LocalIn(IsolatingIn):
    """The server's own machine."""

    enabled: bool = Field(True, description="Whether the machine takes jobs. If not, running jobs end there.")


def _complete(cluster: PhysicalCluster, model: LocalIn) -> PhysicalCluster:
    return replace(
        cluster,
        isolation=isolation_of(model),
        scripts=scripts_of(model),
        setup_cache=model.setup_cache.cache(),
        is_enabled=model.enabled,
        max_tasks=model.max_tasks,
        devices=device_files(model.devices),
    )


LOCAL_CLUSTERS = ClusterKind(LOCAL, LocalIn, AGENT_PARTS, _complete, script_problems, own_cluster=LOCAL)
