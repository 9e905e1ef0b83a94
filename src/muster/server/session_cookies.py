"""The cookies of a browser: its session, and for a few minutes the login that it has begun."""

from fastapi import Request, Response

from muster.domain.accounts import Token
from muster.server.services import COOKIE, services_of

BEGUN_COOKIE = "muster_sign_in"
_SESSION_S = 14 * 86400.0
_BEGUN_PATH = "/api/v1/login/sso"


def set_session(response: Response, request: Request, token: Token, secret: str) -> None:
    """`strict`: another site can neither use the session nor follow a link into it."""
    parts = services_of(request)
    lasts_s = _SESSION_S if token.expires_at is None else token.expires_at - parts.context.clock()
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(min(lasts_s, _SESSION_S)),
        httponly=True,
        samesite="strict",
        secure=_is_secure(request),
    )


def set_begun(response: Response, request: Request, secret: str, lasts_s: float) -> None:
    """`lax`, because the browser comes back from the site of the identity provider."""
    response.set_cookie(
        BEGUN_COOKIE,
        secret,
        max_age=int(lasts_s),
        path=_BEGUN_PATH,
        httponly=True,
        samesite="lax",
        secure=_is_secure(request),
    )


def forget_begun(response: Response) -> None:
    response.delete_cookie(BEGUN_COOKIE, path=_BEGUN_PATH)


def _is_secure(request: Request) -> bool:
    return services_of(request).is_always_secure or request.url.scheme == "https"
