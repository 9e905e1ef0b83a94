"""Virtual clusters, kinds of hardware, and storages."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from muster.domain.clusters import PhysicalCluster
from muster.domain.needs import folder_name
from muster.engine.cluster_access import visible_clusters
from muster.engine.requests.accounts import Principal
from muster.engine.requests.storages import usable_storages
from muster.server.access import Action, require
from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.cluster_views import home_of, sku_types, virtual_clusters
from muster.server.compatibility.openpai.errors import PaiError, PaiRoute
from muster.server.services import Services

router = APIRouter(route_class=PaiRoute, include_in_schema=False)


@router.get("/virtual-clusters")
async def list_virtual_clusters(me: Me, parts: Parts) -> Response:
    require(me, Action.CLUSTER_SEE)
    return JSONResponse(virtual_clusters(parts, me))


@router.get("/virtual-clusters/{name}")
async def get_virtual_cluster(name: str, me: Me, parts: Parts) -> Response:
    require(me, Action.CLUSTER_SEE)
    found = virtual_clusters(parts, me).get(name)
    if found is None:
        raise _no_virtual_cluster(name)
    return JSONResponse(found)


@router.get("/cluster/sku-types")
async def get_sku_types(me: Me, parts: Parts, vc: str | None = None) -> Response:
    require(me, Action.CLUSTER_SEE)
    return JSONResponse(sku_types(parts, me, None) if vc is None else _sku_types_of(parts, me, vc))


@router.get("/virtual-clusters/{name}/sku-types")
async def get_sku_types_of(name: str, me: Me, parts: Parts) -> Response:
    require(me, Action.CLUSTER_SEE)
    return JSONResponse(_sku_types_of(parts, me, name))


@router.get("/storages")
async def list_storages(me: Me, parts: Parts, is_default: Annotated[bool, Query(alias="default")] = False) -> Response:
    """Lists the storages and folders of clusters that the caller may use. None of them is a default one."""
    require(me, Action.CLUSTER_SEE)
    found = {} if is_default else _storages(parts, me)
    return JSONResponse({"storages": [_summary(one) for one in found.values()]})


@router.get("/storages/{name}")
async def get_storage(name: str, me: Me, parts: Parts) -> Response:
    require(me, Action.CLUSTER_SEE)
    found = _storages(parts, me).get(name)
    if found is None:
        raise PaiError(404, "NoStorageError", f"there is no storage {name}")
    return JSONResponse(found)


def _sku_types_of(parts: Services, me: Principal, vc: str) -> dict[str, Any]:
    home = home_of(parts, me, vc)
    if home is None:
        raise _no_virtual_cluster(vc)
    return sku_types(parts, me, home)


def _storages(parts: Services, me: Principal) -> dict[str, dict[str, Any]]:
    """Storages by name. Where several clusters have one of the same name, the first of them is shown."""
    found: dict[str, dict[str, Any]] = {}
    for cluster in visible_clusters(parts.context, me.user):
        settings = parts.context.backends[cluster].settings
        for name in usable_storages(settings, me.user):
            found.setdefault(name, _storage(settings, name))
    return found


def _storage(settings: PhysicalCluster, name: str) -> dict[str, Any]:
    source = settings.storage_source(name) or ""
    folder = settings.folder(folder_name(source, settings) or "")
    return {
        "name": name,
        "share": folder is None or folder.shared,
        "volumeName": f"{settings.name}:{source}",
        "default": False,
        "type": "other",
        "data": {},
        "mountOptions": [],
        "readOnly": folder is not None and folder.read_only,
    }


def _summary(storage: dict[str, Any]) -> dict[str, Any]:
    return {key: storage[key] for key in ("name", "share", "volumeName", "default")}


def _no_virtual_cluster(name: str) -> PaiError:
    return PaiError(404, "NoVirtualClusterError", f"there is no virtual cluster {name}")
