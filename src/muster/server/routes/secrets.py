"""Routes for secrets. Values come in and never go out, so the body is raw: no parser can quote it in an error."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from muster.api.secrets import SecretList, SecretOut
from muster.domain.errors import NotFound, TooLarge
from muster.domain.secrets import is_of_a_job
from muster.engine.data import secrets
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.services import Services, authenticated, services
from muster.wire.response_models import response_model
from muster.wire.spec_schema import NAME_PATTERN
from muster.wire.views import secret_view

router = APIRouter(tags=["secrets"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
Name = Annotated[str, Path(pattern=NAME_PATTERN, description="At most 63 letters, digits, '.', '_' and '-'.")]
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_SET: dict[int | str, dict[str, Any]] = {201: {"description": "The secret is new."}}


@router.get("/secrets", response_model=response_model(SecretList), summary="List secrets")
async def list_secrets(me: Me, parts: Parts) -> Response:
    """Lists your own secrets, without their values; admins see everybody's. Those that came in the file of a job belong
    to that job, and are not listed."""
    found = await parts.context.store.secrets(None if me.is_admin else me.user.id)
    return JSONResponse(SecretList(items=[secret_view(secret) for secret in found if not is_of_a_job(secret.name)]))


@router.put(
    "/secrets/{name}",
    response_model=response_model(SecretOut),
    responses=_SET,
    openapi_extra=_BODY,
    summary="Store or replace a secret",
)
async def set_secret(request: Request, name: Name, me: Me, parts: Parts) -> Response:
    """The body is the value. It is encrypted, and no call returns it. Only you can set your secrets."""
    value = await _value(request, parts.context.limits.secret_bytes)
    secret, is_new = await secrets.set_secret(parts.context, me.user, name, value)
    return JSONResponse(secret_view(secret), 201 if is_new else 200)


@router.delete("/secrets/{name}", status_code=204, summary="Remove a secret")
async def remove_secret(
    name: Name,
    me: Me,
    parts: Parts,
    owner: Annotated[str | None, Query(max_length=64, description="Another user; admins only.")] = None,
) -> None:
    """Jobs that ask for it fail at their next start."""
    require(me, Action.SECRET_REMOVE, owner or me.name)
    user = me.user if owner in (None, me.name) else await parts.accounts.user(owner or "")
    if name not in {secret.name for secret in await parts.context.store.secrets(user.id)}:
        raise NotFound(f"{user.name} has no secret {name!r}", hint="see `muster get secrets`")
    await secrets.remove_secret(parts.context, user, name, actor=me.name)


async def _value(request: Request, most: int) -> bytes:
    """Reads the body, but no more of it than a secret may have."""
    received = bytearray()
    async for piece in request.stream():
        received += piece
        if len(received) > most:
            raise TooLarge(f"a secret may have at most {most} bytes", hint="larger data belongs in inputs")
    return bytes(received)
