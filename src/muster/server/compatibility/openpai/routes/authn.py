"""Logging in and out, and what clients ask before they do."""

from typing import Any, TypeGuard

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from muster.domain.accounts import UserRole
from muster.domain.errors import NotAuthenticated
from muster.server.compatibility.openpai.bodies import fields_of
from muster.server.compatibility.openpai.callers import Me, Parts
from muster.server.compatibility.openpai.errors import PaiError, PaiRoute
from muster.server.password_login import log_in_by_password
from muster.server.services import Services, address_of
from muster.version import __version__

router = APIRouter(route_class=PaiRoute, include_in_schema=False)
root_router = APIRouter(route_class=PaiRoute, include_in_schema=False)
"""The first API answers at its root what the second answers at `/info`."""
LABEL = "openpai"
"""The name of the tokens that clients of OpenPAI get."""
_LOGIN = "/api/v2/authn/basic/login"
_MAX_EXPIRATION_S = 10 * 365 * 86400


@router.get("/info")
@root_router.get("")
async def get_info(parts: Parts) -> Response:
    method = "basic" if _takes_passwords(parts) else "OIDC"
    return JSONResponse({"name": "Muster", "version": __version__, "launcherType": "k8s", "authnMethod": method})


@router.get("/authn/info")
async def get_authn_info(parts: Parts) -> Response:
    if _takes_passwords(parts):
        return JSONResponse({"authn_type": "basic", "loginURI": _LOGIN, "loginURIMethod": "post"})
    return JSONResponse({"authn_type": "OIDC", "loginURI": "/api/v1/login/sso", "loginURIMethod": "get"})


@router.post("/authn/basic/login")
async def log_in(request: Request, parts: Parts) -> Response:
    return JSONResponse(await logged_in(request, parts))


@router.delete("/authn/basic/logout")
async def log_out(me: Me, parts: Parts) -> Response:
    await parts.accounts.log_out(me.token, actor=me.name)
    return JSONResponse({"message": "you are logged out"})


async def logged_in(request: Request, parts: Services) -> dict[str, Any]:
    """An unknown user is answered as a wrong password is, so that nobody learns who has an account."""
    given = await fields_of(request)
    name, password = given.get("username"), given.get("password")
    if not _is_text(name) or not _is_text(password):
        raise PaiError(400, "InvalidParametersError", "username and password are required")
    most_s = _expiration(given.get("expiration"))
    try:
        login = log_in_by_password(parts, name, password, LABEL, address_of(request), most_s=most_s)
        _, secret, user = await login
    except NotAuthenticated as error:
        raise PaiError(400, "IncorrectPasswordError", error.message) from None
    return {"user": user.name, "token": secret, "admin": user.role is UserRole.ADMIN, "hasGitHubPAT": False}


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _takes_passwords(parts: Services) -> bool:
    return parts.has_password_login or parts.directory is not None


def _expiration(given: Any) -> float | None:
    """How long the client wants the token to last. The server's own limit applies in any case."""
    if given in (None, ""):
        return None
    try:
        wanted_s = float(given) if not isinstance(given, bool) else 0.0
    except (TypeError, ValueError):
        wanted_s = 0.0
    if not 0 < wanted_s <= _MAX_EXPIRATION_S:
        raise PaiError(400, "InvalidParametersError", "expiration is a number of seconds")
    return wanted_s
