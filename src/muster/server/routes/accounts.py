"""Routes for logging in and out, users and personal tokens."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

from muster.api.accounts import LoginOut, NewTokenOut, ServerOut, TokenList, UserList, UserOut, WhoAmIOut
from muster.domain.accounts import Token, User
from muster.domain.errors import Forbidden, Invalid, NotFound, Problem
from muster.engine.requests.accounts import Principal
from muster.lib.clock import optional_iso
from muster.lib.quantities import format_duration
from muster.server.access import Action, may, require
from muster.server.services import COOKIE, OWN_HEADER, Services, address_of, authenticated, services, sign_in_of
from muster.server.session_cookies import set_session
from muster.version import __version__
from muster.wire import requests
from muster.wire.response_models import response_model
from muster.wire.views import token_view, user_view

router = APIRouter(tags=["accounts"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]


@router.post(
    "/login", response_model=response_model(LoginOut), summary="Log in by password, or turn a token into a session"
)
async def log_in(request: Request, body: requests.LoginIn, parts: Parts) -> Response:
    """Answers a token. A browser (it sends X-Muster-Request) also gets it as a cookie."""
    if body.token is not None:
        principal = await parts.accounts.authenticate(body.token)
        secret, token, user = body.token, principal.token, principal.user
    elif body.user is not None and body.password is not None:
        token, secret, user = await _by_password(parts, body.user, body.password, body.name, address_of(request))
    elif body.code is not None and body.verifier is not None:
        redeeming = sign_in_of(parts).redeem(body.code, body.verifier, body.name, address_of(request))
        token, secret, user = await redeeming
    else:
        raise Invalid("give `user` and `password`, `token`, or `code` and `verifier`")
    session = LoginOut(token=secret, user=user.name, role=str(user.role), expiresAt=optional_iso(token.expires_at))
    response = JSONResponse(session)
    if OWN_HEADER in request.headers:
        set_session(response, request, token, secret)
    return response


async def _by_password(parts: Services, name: str, password: str, label: str, address: str) -> tuple[Token, str, User]:
    if parts.directory is not None and await parts.directory.is_asked(name):
        return await parts.directory.log_in(name, password, label, address)
    if not parts.has_password_login:
        raise Forbidden("this server takes no passwords", hint="muster login --sso, or log in with a token")
    return await parts.accounts.log_in(name, password, label, address)


@router.post("/logout", status_code=204, summary="Revoke the token of this call")
async def log_out(me: Me, parts: Parts) -> Response:
    await parts.accounts.revoke(me.token, actor=me.name)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


@router.get("/whoami", response_model=response_model(WhoAmIOut), summary="Who am I")
async def who_am_i(request: Request, me: Me) -> Response:
    server = ServerOut(version=__version__, url=str(request.base_url).rstrip("/"))
    return JSONResponse(WhoAmIOut(user=me.name, role=str(me.user.role), scope=str(me.token.scope), server=server))


@router.get("/users", response_model=response_model(UserList), summary="List users")
async def list_users(me: Me, parts: Parts) -> Response:
    """Admins see all users, others only themselves."""
    users = [user for user in await parts.context.store.users() if may(me, Action.USER_SEE, user.name, private=False)]
    return JSONResponse(UserList(items=[user_view(user) for user in users]))


@router.post("/users", status_code=201, response_model=response_model(UserOut), summary="Add a user")
async def add_user(body: requests.UserIn, me: Me, parts: Parts) -> Response:
    require(me, Action.USER_MANAGE)
    user = await parts.accounts.create_user(body.name, body.role, body.password, actor=me.name, groups=body.groups)
    return JSONResponse(user_view(user), 201)


@router.patch("/users/{name}", response_model=response_model(UserOut), summary="Change a user")
async def change_user(request: Request, name: str, body: requests.UserPatch, me: Me, parts: Parts) -> Response:
    """Users may change their own password with the old one; everything else is for admins. A new password ends the
    user's other logins."""
    if body.role is not None or body.disabled is not None or body.groups is not None or name != me.name:
        require(me, Action.USER_MANAGE)
    elif not me.is_admin:
        require(me, Action.PASSWORD_CHANGE, name)
        await parts.accounts.check_password(me.user, body.old_password, address_of(request))
    user = await parts.accounts.change_user(
        name,
        actor=me.name,
        role=body.role,
        password=body.password,
        disabled=body.disabled,
        groups=body.groups,
        keep=me.token,
        ends_tokens=body.end_tokens,
    )
    return JSONResponse(user_view(user))


@router.delete("/users/{name}", status_code=204, summary="Remove a user")
async def remove_user(name: str, me: Me, parts: Parts) -> None:
    """The user's tokens end at once; their jobs stay in the history."""
    require(me, Action.USER_MANAGE)
    await parts.accounts.remove_user(name, actor=me.name)


@router.get("/tokens", response_model=response_model(TokenList), summary="List tokens")
async def list_tokens(me: Me, parts: Parts) -> Response:
    """Lists your own tokens; admins see everybody's."""
    tokens = await parts.context.store.tokens(None if me.is_admin else me.name)
    return JSONResponse(TokenList(items=[token_view(token) for token in tokens]))


@router.post("/tokens", status_code=201, response_model=response_model(NewTokenOut), summary="Make a personal token")
async def create_token(body: requests.TokenIn, me: Me, parts: Parts) -> Response:
    """The secret is shown only in this answer."""
    owner = body.user or me.name
    require(me, Action.TOKEN_MANAGE, owner)
    user = await parts.accounts.user(owner)
    job_id = (await parts.find_job(me, body.job, Action.JOB_READ)).id if body.job else None
    lifetime_s = _lifetime(body.expires, await _longest(parts, owner))
    token, secret = await parts.accounts.create_token(
        user, body.name, lifetime_s, actor=me.name, scope=body.scope, job_id=job_id
    )
    return JSONResponse(NewTokenOut(**token_view(token), secret=secret), 201)


async def _longest(parts: Services, owner: str) -> float | None:
    """Somebody whom the provider no longer knows must not have a token for ever."""
    of_all, of_people = parts.max_token_lifetime_s, parts.linked_token_lifetime_s
    if of_people is None or not await parts.context.store.identities(owner):
        return of_all
    return of_people if of_all is None else min(of_all, of_people)


def _lifetime(asked_s: float | None, most_s: float | None) -> float | None:
    """A token for which no lifetime is asked has the longest that is allowed."""
    if asked_s is not None and most_s is not None and asked_s > most_s:
        problem = Problem("expires", "is too long", f"a token lasts at most {format_duration(most_s)}")
        raise Invalid("the token would last too long", problems=(problem,))
    return most_s if asked_s is None else asked_s


@router.delete("/tokens/{token_id}", status_code=204, summary="Revoke a token")
async def revoke_token(token_id: str, me: Me, parts: Parts) -> None:
    tokens = await parts.context.store.tokens(None if me.is_admin else me.name)
    token = next((token for token in tokens if token.id == token_id), None)
    if token is None:
        raise NotFound(f"there is no token {token_id!r}", hint="see `muster get tokens`")
    require(me, Action.TOKEN_MANAGE, token.user)
    await parts.accounts.revoke(token, actor=me.name)
