"""Routes for virtual clusters and quotas."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.sharing import QuotaList, VirtualClusterList, VirtualClusterOut
from muster.domain.errors import NotFound
from muster.domain.virtual_clusters import VirtualCluster
from muster.engine.cluster_access import listed_virtual_clusters
from muster.engine.data.secrets import lost_secrets
from muster.engine.requests.accounts import Principal
from muster.engine.state.cluster_settings import quotas_of, shares_of
from muster.scheduling.allocations.usage_views import Quota
from muster.server.access import Action, may, require
from muster.server.own_limits import own_limits
from muster.server.services import Services, authenticated, services
from muster.wire.cluster_views import problem_view, quota_view, virtual_cluster_view
from muster.wire.response_models import response_model

router = APIRouter(tags=["clusters and nodes"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_JOBS_NAMED = 10


@router.get("/virtual-clusters", response_model=response_model(VirtualClusterList), summary="List virtual clusters")
async def list_virtual_clusters(me: Me, parts: Parts) -> Response:
    """Lists those that the caller may use; admins see all of them, and problems of the settings."""
    require(me, Action.CLUSTER_SEE)
    context = parts.context
    shares = shares_of(context.clusters, context.clock()) if context.config.virtual else {}
    items = [virtual_cluster_view(vc, shares.get(vc.name), names_people=me.is_admin) for vc in _usable(me, parts)]
    found = (*context.config.problems, *await lost_secrets(context)) if me.is_admin else ()
    problems = [problem_view(problem) for problem in found]
    return JSONResponse(VirtualClusterList(items=items, problems=problems))


@router.get("/virtual-clusters/{name}", response_model=response_model(VirtualClusterOut), summary="One virtual cluster")
async def get_virtual_cluster(name: str, me: Me, parts: Parts) -> Response:
    require(me, Action.CLUSTER_SEE)
    context = parts.context
    vc = next((vc for vc in _usable(me, parts) if vc.name == name), None)
    if vc is None:
        raise NotFound(f"there is no virtual cluster {name!r}", hint="see `muster vc list`")
    shares = shares_of(context.clusters, context.clock())
    return JSONResponse(virtual_cluster_view(vc, shares.get(name), names_people=me.is_admin))


@router.get("/quotas", response_model=response_model(QuotaList), summary="Limits and what is used of them")
async def list_quotas(
    me: Me, parts: Parts, user: Annotated[str | None, Query(max_length=64, description="`me` is you.")] = None
) -> Response:
    """Lists the caller's limits on the server as a whole, which have no virtual cluster, and quotas of virtual clusters
    as a whole and of the caller; admins see everybody's unless they name a user."""
    name = me.name if user in (None, "me") else user
    require(me, Action.QUOTA_SEE, name)
    own = await own_limits(parts, name or "", me.user)
    subject = None if user is None and me.is_admin else await parts.accounts.user(name or "")
    jobs = (entry.job for entry in parts.context.open_jobs.entries())
    quotas = quotas_of(parts.context.config, parts.context.clusters, jobs, parts.context.clock(), subject)
    usable = {"", *(vc.name for vc in _usable(me, parts))}
    items = [quota_view(quota, _names(me, parts, quota)) for quota in [*own, *quotas] if quota.vc in usable]
    return JSONResponse(QuotaList(items=items))


def _usable(me: Principal, parts: Services) -> list[VirtualCluster]:
    return listed_virtual_clusters(parts.context, me.user, is_admin=me.is_admin)


def _names(me: Principal, parts: Services, quota: Quota) -> list[str]:
    found = (parts.context.open_jobs.get(job_id) for job_id in quota.waiting)
    jobs = [entry.job for entry in found if entry is not None]
    seen = [job.name for job in jobs if may(me, Action.JOB_SEE, job.owner, private=parts.private_jobs)]
    return seen[:_JOBS_NAMED]
