"""Who calls: the bearer of one of Muster's tokens. Cookies do not count here, so that no page can make such a call."""

import re
from typing import Annotated

from fastapi import Depends, Request

from muster.domain.errors import NotAuthenticated
from muster.engine.requests.accounts import Principal
from muster.server.services import Services, services, services_of
from muster.server.token_scopes import require_scope

_PREFIX = re.compile(r"(/rest-server)?/api/v[12]")
_OF_JOBS = re.compile(r"(/user/[^/]+)?/jobs(/.*)?")
_MEANS = {"/authn/basic/logout": "/api/v1/logout"}


async def authenticated_by_token(request: Request) -> Principal:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NotAuthenticated("a token is needed", hint="send Authorization: Bearer TOKEN, or log in first")
    principal = await services_of(request).accounts.authenticate(secret.strip())
    require_scope(principal.token, request.method, _own_path(request.url.path))
    return principal


def _own_path(path: str) -> str:
    """The path of Muster's own API that needs the same scope of a token."""
    rest = _PREFIX.sub("", path, count=1)
    return "/api/v1/jobs" if _OF_JOBS.fullmatch(rest) else _MEANS.get(rest, f"/api/v1{rest}")


Me = Annotated[Principal, Depends(authenticated_by_token)]
Parts = Annotated[Services, Depends(services)]
