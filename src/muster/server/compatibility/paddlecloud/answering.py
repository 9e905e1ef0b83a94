"""How paddlecloud's server speaks: who calls it, and what an error looks like.

Its clients look at the body, not at the status: nearly everything is answered 200, and `msg` (or `err` of the file
server) is empty if it went well. Only a caller whom nobody knows, and a request that yields bytes instead of JSON, are
refused with a status.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from muster.domain.errors import Invalid, MusterError, NotAuthenticated, TooMany, Unavailable
from muster.engine.requests.accounts import Principal
from muster.server.problems import problem_of, retry_later
from muster.server.services import services_of
from muster.server.token_scopes import require_scope

OK = 200
FAILED = 500
_JSON = "application/json; charset=UTF-8"
_SCHEMES = ("token", "bearer")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def caller_of(own_path: str) -> Callable[[Request], Awaitable[Principal]]:
    """What finds out who calls: by the header `Authorization: Token …`, never by a cookie. `own_path` is the path of
    Muster's own route that does the same, so that a token with a narrower scope may do the same here and there."""

    async def caller(request: Request) -> Principal:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() not in _SCHEMES or not secret.strip():
            raise NotAuthenticated("Authentication credentials were not provided.")
        principal = await services_of(request).accounts.authenticate(secret.strip())
        require_scope(principal.token, request.method, own_path)
        return principal

    return caller


def simple(code: int, msg: Any, **more: Any) -> Response:
    return JSONResponse({"code": code, "msg": msg, **more})


class InWords(APIRoute):
    """Turns errors into `{"code": …, "msg": …}`, as most of the API answers."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def answering(request: Request) -> Response:
            try:
                return await handle(request)
            except NotAuthenticated as error:
                return JSONResponse({"detail": words(error)}, 401, {"WWW-Authenticate": "Token"})
            except (TooMany, Unavailable) as error:
                return retry_later(JSONResponse({"detail": words(error)}, _status(error)), error.retry_after_s)
            except RequestValidationError:
                return self.refused(Invalid("the request is not well formed"))
            except MusterError as error:
                return self.refused(error)

        return answering

    def refused(self, error: MusterError) -> Response:
        return simple(FAILED, words(error))


class WithStatus(InWords):
    """Refuses where answers are bytes: a client that looks at the status only would take words for the file."""

    def refused(self, error: MusterError) -> Response:
        return JSONResponse({"msg": words(error)}, _status(error))


def words(error: MusterError) -> str:
    """The message with everything that is wrong and what to do about it, in one text, as clients print it."""
    found = "; ".join(str(problem) for problem in getattr(error, "problems", ()))
    said = f"{error.message}: {found}" if found else error.message
    return f"{said} ({error.hint})" if error.hint and not found else said


async def json_body(request: Request, most: int = 64 << 10) -> dict[str, Any]:
    raw = await request.body()
    if len(raw) > most:
        raise Invalid(f"the body may have at most {most} bytes")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Invalid("the body must be a JSON object")
    return found


def text(body: dict[str, Any], key: str) -> str:
    """The text of a key; empty if it is absent."""
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise Invalid(f"{key} must be a text")
    return value or ""


def both(path: str) -> tuple[str, str]:
    """Clients write paths with and without a slash at the end."""
    return path, f"{path}/"


def _status(error: MusterError) -> int:
    return problem_of(error).status_code
