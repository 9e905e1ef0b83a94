"""How much the caller may use, as a resource quota of Kubernetes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from muster.engine.cluster_access import usable_clusters
from muster.engine.requests.accounts import Principal
from muster.engine.state.cluster_settings import quotas_of
from muster.lib.quantities import format_bytes
from muster.server.compatibility.paddlecloud.answering import InWords, both, caller_of
from muster.server.compatibility.paddlecloud.kube_views import listing
from muster.server.services import Services, services

router = APIRouter(route_class=InWords, include_in_schema=False)
Me = Annotated[Principal, Depends(caller_of("/api/v1/quotas"))]
Parts = Annotated[Services, Depends(services)]
_GPUS = "runningGpus"
GPU = "alpha.kubernetes.io/nvidia-gpu"


async def get_quota(me: Me, parts: Parts) -> Response:
    """CPU and memory are what the clusters have on which the caller may run jobs, as nothing else limits them. GPUs are
    the smallest limit that a virtual cluster sets for the caller, else those that there are."""
    context = parts.context
    nodes = [node for cluster in usable_clusters(context, me.user) for node in context.nodes(cluster)]
    jobs = (entry.job for entry in context.open_jobs.entries())
    quotas = quotas_of(context.config, context.clusters, jobs, context.clock(), me.user)
    gpus = sum(len(node.capacity.devices) for node in nodes)
    limits = [quota.limit for quota in quotas if quota.kind == _GPUS]
    hard = {
        "requests.cpu": str(sum(node.capacity.cpu_m for node in nodes) // 1000),
        "requests.memory": format_bytes(sum(node.capacity.memory_bytes for node in nodes)),
        GPU: str(int(min([gpus, *limits]))),
        "pods": str(context.limits.tasks_per_job),
    }
    item = {"metadata": {"name": "quota", "namespace": me.name}, "spec": {"hard": hard}, "status": {"hard": hard}}
    return JSONResponse(listing([item], "ResourceQuotaList"))


for _path in both("/api/v1/quota"):
    router.add_api_route(_path, get_quota, methods=["GET"], include_in_schema=False)
