"""Users and groups, as far as the caller may see them. They are administered with Muster's own means."""

from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from muster.domain.accounts import User
from muster.domain.errors import NotFound
from muster.engine.cluster_access import default_cluster, usable_clusters, usable_virtual_clusters
from muster.engine.requests.accounts import Principal
from muster.engine.state.cluster_settings import DEFAULT
from muster.server.access import Action, may, require
from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.errors import PaiError, PaiRoute
from muster.server.services import Services

router = APIRouter(route_class=PaiRoute, include_in_schema=False)
_ADMINS = "admingroup"
_EVERYBODY = "default"
_MYSELF = "me"


@router.get("/users")
@router.get("/users/")
@router.get("/user")
async def list_users(me: Me, parts: Parts) -> Response:
    """Admins see all users, others only themselves."""
    users = [user for user in await parts.context.store.users() if may(me, Action.USER_SEE, user.name, private=False)]
    return JSONResponse([_user_view(parts, user) for user in users])


@router.get("/users/{name}")
@router.get("/user/{name}")
async def get_user(name: str, me: Me, parts: Parts) -> Response:
    wanted = me.name if name == _MYSELF else name
    require(me, Action.USER_SEE, wanted)
    try:
        user = await parts.accounts.user(wanted)
    except NotFound as error:
        raise PaiError(404, "NoUserError", error.message) from None
    return JSONResponse(_user_view(parts, user))


@router.get("/groups")
@router.get("/group")
async def list_groups(me: Me, parts: Parts) -> Response:
    """Admins see the groups of all users, others their own."""
    return JSONResponse([_group_view(parts, name) for name in await _groups(parts, me)])


@router.get("/groups/{name}")
@router.get("/group/{name}")
async def get_group(name: str, me: Me, parts: Parts) -> Response:
    if name not in await _groups(parts, me):
        raise PaiError(404, "NoGroupError", f"there is no group {name}")
    return JSONResponse(_group_view(parts, name))


@router.get("/groups/{name}/userlist")
@router.get("/group/{name}/userlist")
async def get_members(name: str, me: Me, parts: Parts) -> Response:
    if name not in await _groups(parts, me):
        raise PaiError(404, "NoGroupError", f"there is no group {name}")
    users = [user for user in await parts.context.store.users() if may(me, Action.USER_SEE, user.name, private=False)]
    return JSONResponse(
        [{"username": user.name, "clusterAdmin": user.is_admin} for user in users if name in _groups_of(user)]
    )


async def _groups(parts: Services, me: Principal) -> list[str]:
    users: Iterable[User] = await parts.context.store.users() if me.is_admin else [me.user]
    return sorted({group for user in users for group in _groups_of(user)})


def _groups_of(user: User) -> set[str]:
    return {_EVERYBODY, *user.groups, *([_ADMINS] if user.is_admin else [])}


def _user_view(parts: Services, user: User) -> dict[str, Any]:
    return {
        "username": user.name,
        "email": "",
        "grouplist": sorted(_groups_of(user)),
        "virtualCluster": _clusters_of(parts, user),
        "admin": user.is_admin,
        "extension": {},
        "storageConfig": [],
    }


def _clusters_of(parts: Services, user: User) -> list[str]:
    context = parts.context
    names = {*usable_clusters(context, user), *(vc.name for vc in usable_virtual_clusters(context, user))}
    return sorted(names | ({DEFAULT} if default_cluster(context, user) is not None else set()))


def _group_view(parts: Services, name: str) -> dict[str, Any]:
    granted = sorted(vc.name for vc in parts.context.config.virtual.values() if name in vc.groups)
    acls = {"admin": name == _ADMINS, "virtualClusters": granted, "storageConfigs": []}
    return {"groupname": name, "description": "", "externalName": "", "extension": {"acls": acls}}
