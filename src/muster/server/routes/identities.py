"""Routes for the links between users and the people of identity providers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.accounts import IdentityList, IdentityOut
from muster.domain.errors import Invalid
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.services import Services, authenticated, services
from muster.wire import requests
from muster.wire.response_models import response_model
from muster.wire.views import identity_view

router = APIRouter(tags=["accounts"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


@router.get(
    "/users/{name}/identities",
    response_model=response_model(IdentityList),
    summary="Who the user is at identity providers",
)
async def list_identities(name: str, me: Me, parts: Parts) -> Response:
    require(me, Action.USER_SEE, name)
    user = await parts.accounts.user(name)
    found = await parts.context.store.identities(user.name)
    return JSONResponse(IdentityList(items=[identity_view(identity) for identity in found]))


@router.post(
    "/users/{name}/identities",
    status_code=201,
    response_model=response_model(IdentityOut),
    summary="Link a user to a person of an identity provider",
)
async def link_identity(name: str, body: requests.IdentityIn, me: Me, parts: Parts) -> Response:
    """Link a person of the identity provider to a user, as whom they log in from then on. Admins only."""
    require(me, Action.USER_MANAGE)
    issuer = body.issuer or (parts.sign_in.provider.issuer if parts.sign_in is not None else None)
    if issuer is None:
        raise Invalid("give `issuer`: this server has no identity provider of its own")
    user = await parts.accounts.user(name)
    return JSONResponse(identity_view(await parts.accounts.link(user, issuer, body.subject, actor=me.name)), 201)


@router.delete("/users/{name}/identities", status_code=204, summary="Unlink a user from identity providers")
async def unlink_identities(
    name: str, me: Me, parts: Parts, subject: Annotated[str | None, Query(max_length=255)] = None
) -> None:
    """The person can no longer log in as this user, and is logged out. Without `subject`, all links are removed."""
    require(me, Action.USER_MANAGE)
    user = await parts.accounts.user(name)
    for identity in await parts.context.store.identities(user.name):
        if subject in (None, identity.subject):
            await parts.accounts.unlink(identity, actor=me.name)
