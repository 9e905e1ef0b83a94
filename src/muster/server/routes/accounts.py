"""Routes for logging in and out, users and personal tokens."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from muster.api.accounts import LinkOut, LoginOut, NewTokenOut, ServerOut, TokenList, UserList, UserOut, WhoAmIOut
from muster.domain.errors import Conflict, Invalid, MusterError, NotFound
from muster.engine.requests.accounts import Principal
from muster.engine.requests.login_links import LINK_S, login_fragment
from muster.engine.state.event_builders import audit_event
from muster.lib.clock import iso, optional_iso
from muster.ports.store import Change
from muster.server.access import Action, may, require
from muster.server.password_login import log_in_by_password
from muster.server.services import COOKIE, OWN_HEADER, Services, address_of, authenticated, services, sign_in_of
from muster.server.session_cookies import set_session
from muster.server.token_lifetimes import lifetime, longest_lifetime
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
        if OWN_HEADER in request.headers:  # whoever logs out of the browser must not lose the token of their programs
            token, secret = await parts.accounts.begin_session(principal, body.name)
    elif body.user is not None and body.password is not None:
        token, secret, user = await log_in_by_password(parts, body.user, body.password, body.name, address_of(request))
    elif body.code is not None and body.verifier is not None:
        redeeming = sign_in_of(parts).redeem(body.code, body.verifier, body.name, address_of(request))
        token, secret, user = await redeeming
    elif body.ticket is not None:
        await _require_same_person(request, parts, body.ticket)
        token, secret, user = await parts.login_links.log_in(parts.accounts, body.ticket, body.name)
    else:
        raise Invalid("give `user` and `password`, `token`, `code` and `verifier`, or `ticket`")
    session = LoginOut(token=secret, user=user.name, role=str(user.role), expiresAt=optional_iso(token.expires_at))
    response = JSONResponse(session)
    if OWN_HEADER in request.headers:
        set_session(response, request, token, secret)
    return response


@router.post(
    "/login/link",
    status_code=201,
    response_model=response_model(LinkOut),
    summary="Make a link that logs a browser in, once",
)
async def make_login_link(request: Request, me: Me, parts: Parts) -> Response:
    """The first to open the link, within five minutes, is logged in as you. The ticket is behind `#` in the link,
    where no server and no log sees it. The session lasts no longer than the token of this call. The link begins with
    the address at which you call the server."""
    await parts.context.apply(Change(events=[audit_event("login.link", me.name, parts.context.clock())]))
    ticket = parts.login_links.new(me.user, until=me.token.expires_at)
    link = f"{str(request.base_url).rstrip('/')}/{login_fragment(ticket)}"
    return JSONResponse(LinkOut(url=link, expiresAt=iso(parts.context.clock() + LINK_S)), 201)


async def _require_same_person(request: Request, parts: Services, ticket: str) -> None:
    """A link that somebody has sent must not replace the login of a browser unnoticed. The ticket stays good."""
    try:
        me = await authenticated(request)
    except MusterError:
        return
    owner = parts.login_links.owner(ticket)
    if owner is not None and owner != me.name:
        raise Conflict(
            f"you are logged in as {me.name} here, and this link would log you in as {owner}",
            hint=f"if you want to be {owner}, log out first and open the link again",
        )


@router.post("/logout", status_code=204, summary="Revoke the token of this call")
async def log_out(me: Me, parts: Parts) -> Response:
    await parts.accounts.log_out(me.token, actor=me.name)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


@router.get("/whoami", response_model=response_model(WhoAmIOut), summary="Who am I")
async def who_am_i(request: Request, me: Me, parts: Parts) -> Response:
    return JSONResponse(
        WhoAmIOut(
            user=me.name,
            role=str(me.user.role),
            groups=list(me.user.groups),
            hasPassword=me.user.password_hash is not None,
            token=token_view(me.token, me.token.id),
            scope=str(me.token.scope),
            server=ServerOut(
                version=__version__,
                url=str(request.base_url).rstrip("/"),
                store=await parts.context.store.store_id(),
            ),
        )
    )


@router.get("/users", response_model=response_model(UserList), summary="List users")
async def list_users(me: Me, parts: Parts) -> Response:
    """Admins see all users, others only themselves."""
    users = [user for user in await parts.context.store.users() if may(me, Action.USER_SEE, user.name, private=False)]
    return JSONResponse(UserList(items=[user_view(user) for user in users]))


@router.post("/users", status_code=201, response_model=response_model(UserOut), summary="Add a user")
async def add_user(body: requests.UserIn, me: Me, parts: Parts) -> Response:
    require(me, Action.USER_MANAGE)
    if body.name == requests.MYSELF:
        raise Invalid(f"nobody can be called {requests.MYSELF}: where a user is asked for, it means whoever asks")
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
    """The user's tokens end at once, their simulations are removed, and their sweeps make no more members; their jobs
    stay in the history."""
    require(me, Action.USER_MANAGE)
    await parts.accounts.remove_user(name, actor=me.name)
    for simulation in parts.simulations.visible(name):
        await parts.simulations.remove(parts.context, simulation, me.name)


@router.get("/tokens", response_model=response_model(TokenList), summary="List tokens")
async def list_tokens(
    me: Me,
    parts: Parts,
    user: Annotated[str | None, Query(max_length=200, description="Only those of this user; `me` is you.")] = None,
) -> Response:
    """Lists your own tokens and logins; admins see everybody's."""
    owner = me.name if user == requests.MYSELF else user
    if owner is not None:
        require(me, Action.TOKEN_MANAGE, owner)
    tokens = await parts.context.store.tokens(owner if owner is not None or me.is_admin else me.name)
    return JSONResponse(TokenList(items=[token_view(token, me.token.id) for token in tokens]))


@router.post("/tokens", status_code=201, response_model=response_model(NewTokenOut), summary="Make a personal token")
async def create_token(body: requests.TokenIn, me: Me, parts: Parts) -> Response:
    """The secret is shown only in this answer."""
    owner = body.user or me.name
    require(me, Action.TOKEN_MANAGE, owner)
    user = await parts.accounts.user(owner)
    job_id = (await parts.find_job(me, body.job, Action.JOB_READ)).id if body.job else None
    lifetime_s = lifetime(body.expires, await longest_lifetime(parts, owner))
    token, secret = await parts.accounts.create_token(
        user, body.name, lifetime_s, actor=me.name, scope=body.scope, job_id=job_id
    )
    return JSONResponse(NewTokenOut(**token_view(token), secret=secret), 201)


@router.delete("/tokens/{token_id}", status_code=204, summary="Revoke a token")
async def revoke_token(token_id: str, me: Me, parts: Parts) -> None:
    tokens = await parts.context.store.tokens(None if me.is_admin else me.name)
    token = next((token for token in tokens if token.id == token_id), None)
    if token is None:
        raise NotFound(f"there is no token {token_id!r}", hint="see `muster get tokens`")
    require(me, Action.TOKEN_MANAGE, token.user)
    await parts.accounts.revoke(token, actor=me.name)
