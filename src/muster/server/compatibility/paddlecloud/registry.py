"""The credentials of image registries, which are secrets of the user whose names begin with `pcloud-registry-`."""

import base64
import json
import re
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from muster.domain.errors import Conflict, Invalid, NotFound
from muster.domain.secrets import Secret
from muster.engine.data import secrets
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.compatibility.paddlecloud.answering import OK, InWords, both, caller_of, json_body, simple, text
from muster.server.compatibility.paddlecloud.kube_views import listing, time_of
from muster.server.services import Services, services
from muster.wire.dialects.paddle.paddlecloud import REGISTRY_PREFIX
from muster.wire.spec_schema import NAME_PATTERN

router = APIRouter(route_class=InWords, include_in_schema=False)
Me = Annotated[Principal, Depends(caller_of("/api/v1/secrets"))]
Parts = Annotated[Services, Depends(services)]


async def list_registries(me: Me, parts: Parts) -> Response:
    """The names only: nobody is shown a value."""
    items = [
        {
            "metadata": {
                "name": secret.name,
                "namespace": me.name,
                "creation_timestamp": time_of(secret.created_at),
            },
            "type": "kubernetes.io/dockerconfigjson",
            "data": None,
        }
        for secret in await _registries(parts, me)
    ]
    return simple(OK, listing(items, "SecretList"))


async def add_registry(request: Request, me: Me, parts: Parts) -> Response:
    body = await json_body(request)
    name, user, password, server = (text(body, key) for key in ("name", "username", "password", "server"))
    if not (user and password and server):
        raise Invalid("a registry needs name, username, password and server")
    name = _checked(name)
    if name in {secret.name for secret in await _registries(parts, me)}:
        raise Conflict(f"registry {name.removeprefix(REGISTRY_PREFIX)} already exists", hint="delete it first")
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    value = {"auths": {server: {"username": user, "password": password, "auth": auth}}}
    await secrets.set_secret(parts.context, me.user, name, json.dumps(value).encode())
    return simple(OK, "")


async def remove_registry(request: Request, me: Me, parts: Parts) -> Response:
    name = _checked(text(await json_body(request), "name"))
    require(me, Action.SECRET_REMOVE, me.name)
    if name not in {secret.name for secret in await _registries(parts, me)}:
        raise NotFound(f"there is no registry {name.removeprefix(REGISTRY_PREFIX)}")
    await secrets.remove_secret(parts.context, me.user, name, actor=me.name)
    return simple(OK, "")


for _path in both("/api/v1/registry"):
    router.add_api_route(_path, list_registries, methods=["GET"], include_in_schema=False)
    router.add_api_route(_path, add_registry, methods=["POST"], include_in_schema=False)
    router.add_api_route(_path, remove_registry, methods=["DELETE"], include_in_schema=False)


async def _registries(parts: Services, me: Principal) -> list[Secret]:
    return [one for one in await parts.context.store.secrets(me.user.id) if one.name.startswith(REGISTRY_PREFIX)]


def _checked(name: str) -> str:
    """The name of the secret. No other secret can be reached by this way."""
    full = name if name.startswith(REGISTRY_PREFIX) else REGISTRY_PREFIX + name
    if full == REGISTRY_PREFIX or not re.fullmatch(NAME_PATTERN, full):
        raise Invalid("the name of a registry has letters, digits, '.', '_' and '-' only, at most 47")
    return full
