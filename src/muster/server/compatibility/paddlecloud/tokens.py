"""Logging in, whose token it is, and whether the server is there."""

from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from muster.domain.errors import NotAuthenticated
from muster.engine.requests.accounts import Principal
from muster.server.compatibility.paddlecloud.answering import InWords, both, caller_of, json_body, text
from muster.server.password_login import log_in_by_password
from muster.server.services import Services, address_of, services

router = APIRouter(route_class=InWords, include_in_schema=False)
Me = Annotated[Principal, Depends(caller_of("/api/v1/whoami"))]
Parts = Annotated[Services, Depends(services)]
TOKEN_PATHS = both("/api-token-auth")
_LABEL = "paddlecloud"
_FORM = "application/x-www-form-urlencoded"


async def log_in(request: Request, parts: Parts) -> Response:
    """The token is a login like any other: it lasts as long, and wrong passwords count against the same limits."""
    body = (
        await _form(request) if request.headers.get("content-type", "").startswith(_FORM) else await json_body(request)
    )
    user, password = text(body, "username"), text(body, "password")
    if not user or not password:
        return JSONResponse({"non_field_errors": ['Must include "username" and "password".']}, 400)
    try:
        _, secret, _ = await log_in_by_password(parts, user[:64], password[:1024], _LABEL, address_of(request))
    except NotAuthenticated:
        return JSONResponse({"non_field_errors": ["Unable to log in with provided credentials."]}, 400)
    return JSONResponse({"token": secret}, headers={"Cache-Control": "no-store"})


for _path in TOKEN_PATHS:
    router.add_api_route(_path, log_in, methods=["POST"], include_in_schema=False)


@router.get("/api/v1/token2user")
@router.get("/api/v1/token2user/")
async def token_to_user(me: Me) -> Response:
    return JSONResponse({"user": me.name})


@router.get("/healthz/")
async def healthy() -> Response:
    return PlainTextResponse("OK")


async def _form(request: Request) -> dict[str, Any]:
    found = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=16)
    return {name: values[0] for name, values in found.items()}
