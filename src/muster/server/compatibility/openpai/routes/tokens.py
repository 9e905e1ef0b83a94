"""The caller's tokens. Muster keeps only their hashes, so a list has their ids, by which they can be revoked too."""

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from muster.domain.accounts import Token, TokenScope
from muster.domain.errors import Forbidden
from muster.engine.requests.accounts import Principal, hash_secret
from muster.server.access import Action, require
from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.errors import PaiError, PaiRoute
from muster.server.token_lifetimes import longest_lifetime

router = APIRouter(route_class=PaiRoute, include_in_schema=False)
APPLICATION = "openpai-application"
"""The name of application tokens, which submit and control jobs and administer nothing."""


@router.get("/tokens")
@router.get("/token")
async def list_tokens(me: Me, parts: Parts) -> Response:
    _require_person(me)
    return JSONResponse({"tokens": [token.id for token in await parts.context.store.tokens(me.name)]})


@router.get("/tokens/check")
@router.get("/token/check")
async def check_token(me: Me) -> Response:
    is_application = me.token.scope is not TokenScope.ADMIN
    return JSONResponse({"username": me.name, "admin": me.is_admin, "application": is_application})


@router.post("/tokens/application")
@router.post("/token/application")
async def create_application_token(me: Me, parts: Parts) -> Response:
    _require_person(me)
    require(me, Action.TOKEN_MANAGE, me.name)
    lifetime_s = await longest_lifetime(parts, me.name)
    _, secret = await parts.accounts.create_token(
        me.user, APPLICATION, lifetime_s, actor=me.name, scope=TokenScope.SUBMIT
    )
    return JSONResponse({"token": secret, "application": True})


@router.delete("/tokens/{given}")
@router.delete("/token/{given}")
async def revoke_token(given: str, me: Me, parts: Parts) -> Response:
    """Takes a token, or its id. Only one's own can be revoked here, also by admins."""
    _require_person(me)
    tokens = await parts.context.store.tokens(me.name)
    found = next((token for token in tokens if _is_meant(token, given)), None)
    if found is None:
        raise PaiError(403, "ForbiddenUserError", "this is not a token of yours")
    await parts.accounts.revoke(found, actor=me.name)
    return JSONResponse({"message": "the token is revoked"})


def _is_meant(token: Token, given: str) -> bool:
    return token.id == given or token.secret_hash == hash_secret(given)


def _require_person(me: Principal) -> None:
    if me.token.scope is not TokenScope.ADMIN:
        raise Forbidden("an application token can't manage tokens", hint="log in with your password")
