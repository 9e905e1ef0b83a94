"""Routes for logging in with an identity provider: for browsers, and for the command by way of one or without one."""

import re
from typing import Annotated
from urllib.parse import quote, urlsplit

import structlog
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from muster.api.accounts import DeviceLoginOut, FirstStartOut, LoginOut, LoginWaysOut, ProviderOut
from muster.domain.errors import Forbidden, MusterError, NotAuthenticated
from muster.engine.requests.first_start import COMMAND
from muster.engine.requests.sign_in import PENDING_S, CommandLogin, SignedIn
from muster.lib.clock import optional_iso
from muster.server.services import Services, address_of, services, sign_in_of
from muster.server.session_cookies import BEGUN_COOKIE, forget_begun, set_begun, set_session
from muster.server.sign_in_pages import code_page, confirmation_page, refusal_page
from muster.wire import requests
from muster.wire.response_models import response_model

_log = structlog.get_logger("server.sign_in")
router = APIRouter(tags=["accounts"])
browser_router = APIRouter(include_in_schema=False)
"""Answers pages and redirects: nothing for programs."""
Parts = Annotated[Services, Depends(services)]
_START = "/api/v1/login/sso"
CALLBACK = f"{_START}/callback"
CONFIRM = f"{_START}/confirm"
_CHALLENGE = r"^[A-Za-z0-9_-]{43}$"
_STATE = r"^[A-Za-z0-9_-]{0,128}$"
_TARGET = re.compile(r"/[A-Za-z0-9._~%/-]*")


@router.get("/login", response_model=response_model(LoginWaysOut), summary="How people can log in")
async def login_ways(parts: Parts) -> Response:
    """A server on which nobody has a password yet says how its admin gets in the first time."""
    sso = None if parts.sign_in is None else ProviderOut(name=parts.sign_in.provider.title)
    ways = LoginWaysOut(password=parts.has_password_login or parts.directory is not None, sso=sso)
    is_for_others = parts.sign_in is not None or parts.directory is not None
    if not is_for_others and await parts.first_start.is_unused(parts.context):
        ways["firstStart"] = FirstStartOut(command=COMMAND)
    return JSONResponse(ways)


@browser_router.get(_START)
async def begin(
    request: Request,
    parts: Parts,
    target: Annotated[str, Query(max_length=500)] = "/",
    challenge: Annotated[str | None, Query(pattern=_CHALLENGE)] = None,
    port: Annotated[int | None, Query(ge=1, le=65535)] = None,
    state: Annotated[str, Query(pattern=_STATE)] = "",
    here: bool = False,
) -> Response:
    """Sends the browser to the provider. `target` is where the page goes afterwards, always on this server. With
    `challenge`, the login is for the command."""
    try:
        sign_in = sign_in_of(parts)
        if not here and request.url.netloc != urlsplit(parts.public_address).netloc:
            # The provider sends the browser back to the public address, which must know its cookie.
            query = f"{request.url.query}&here=true".lstrip("&")
            return RedirectResponse(f"{parts.public_address}{_START}?{query}", 303)
        command = None if challenge is None else CommandLogin(challenge, port, state)
        begun = await sign_in.begin(address_of(request), target if _TARGET.fullmatch(target) else "/", command)
    except MusterError as error:
        return refusal_page(error)
    response = RedirectResponse(begun.address, 303)
    set_begun(response, request, begun.browser, PENDING_S)
    return response


@browser_router.get(CALLBACK)
async def finish(
    request: Request,
    parts: Parts,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str | None, Query(max_length=8192)] = None,
    iss: Annotated[str | None, Query(max_length=2048)] = None,
    error: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The provider has sent the browser back."""
    try:
        signed_in = await _signed_in(request, parts, state, code, iss, error)
        if signed_in.command is not None:
            asked = sign_in_of(parts).ask(signed_in, _browser(request), address_of(request))
            return confirmation_page(signed_in.person.shown, signed_in.command, asked)
        token, secret, _ = await sign_in_of(parts).log_in(signed_in.person, "browser", address_of(request))
    except MusterError as refusal:
        _log.info("a login with the identity provider failed", error=refusal.message)
        response: Response = refusal_page(refusal)
        forget_begun(response)
        return response
    response = RedirectResponse(f"/#{quote(signed_in.target, safe='/%')}", 303)
    set_session(response, request, token, secret)
    forget_begun(response)
    return response


@browser_router.post(CONFIRM)
async def confirm(request: Request, parts: Parts, asked: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The person has confirmed that the login of the command is theirs. The command gets a code, never a token, because
    only the command itself can exchange it."""
    try:
        command, code = sign_in_of(parts).confirm(asked, _browser(request), address_of(request))
    except MusterError as error:
        return refusal_page(error)
    if command.port is None:
        response: Response = code_page(code)
    else:
        response = RedirectResponse(f"http://127.0.0.1:{command.port}/?code={code}&state={command.state}", 303)
    forget_begun(response)
    return response


@router.post(
    "/login/device", status_code=201, response_model=response_model(DeviceLoginOut), summary="Begin a login by a code"
)
async def begin_device(request: Request, parts: Parts) -> Response:
    """Begin a login on a machine without a browser: the person confirms the code on another one. Answers 404 if the
    identity provider does not offer this."""
    handle, device = await sign_in_of(parts).begin_device(address_of(request))
    return JSONResponse(
        DeviceLoginOut(
            id=handle,
            code=device.user_code,
            address=device.address,
            completeAddress=device.complete_address,
            interval=device.every_s,
            expiresIn=device.lifetime_s,
        ),
        201,
    )


@router.post("/login/device/{login_id}", response_model=response_model(LoginOut), summary="End a login by a code")
async def finish_device(request: Request, login_id: str, body: requests.DeviceLoginIn, parts: Parts) -> Response:
    """Answers 202 without content as long as the person has not confirmed the code."""
    session = await sign_in_of(parts).device_session(login_id, body.name, address_of(request))
    if session is None:
        return Response(status_code=202)
    token, secret, user = session
    return JSONResponse(
        LoginOut(token=secret, user=user.name, role=str(user.role), expiresAt=optional_iso(token.expires_at))
    )


async def _signed_in(
    request: Request, parts: Services, state: str, code: str | None, iss: str | None, error: str | None
) -> SignedIn:
    sign_in = sign_in_of(parts)
    if error is not None:
        sign_in.give_up(state, _browser(request))
        raise Forbidden(f"{sign_in.provider.title} has not allowed the login")
    if code is None:
        raise NotAuthenticated("the identity provider has sent no code")
    return await sign_in.finish(state, _browser(request), code, iss, address_of(request))


def _browser(request: Request) -> str:
    return request.cookies.get(BEGUN_COOKIE, "")
