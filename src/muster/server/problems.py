"""Answers errors as application/problem+json: a stable code, what happened, and what to do next."""

import errno
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from muster.api.problems import ProblemItem
from muster.domain.errors import (
    BadAnswer,
    Conflict,
    Forbidden,
    Invalid,
    MusterError,
    NotAuthenticated,
    NotFound,
    NotOffered,
    StorageFull,
    TooLarge,
    TooMany,
    Unavailable,
    Unreachable,
)
from muster.wire.requests import PAGE_PATTERN, USER_PATTERN
from muster.wire.spec_problems import MAX_PROBLEMS
from muster.wire.spec_schema import NAME_PATTERN

_log = structlog.get_logger("server")
_ASK_A_NODE_AGAIN_S = 5.0
_PROBLEMS_IN_TEXT = 20
_SHOWN_PATH = 200
MEDIA_TYPE = "application/problem+json"
_PATTERNS = {
    USER_PATTERN: "must have letters, digits, '.', '_', '@' and '-' only, at most 63, and a letter or digit first",
    NAME_PATTERN: "must have letters, digits, '.', '_' and '-' only, at most 63, and a letter or digit at both ends",
    PAGE_PATTERN: "must be a path of the page itself: one '/' first, and neither spaces nor backslashes",
}
_STATUS: tuple[tuple[type[MusterError], int], ...] = (
    (Invalid, 422),
    (NotAuthenticated, 401),
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (TooLarge, 413),
    (TooMany, 429),
    (NotOffered, 501),
    (BadAnswer, 502),
    (StorageFull, 507),
    (Unavailable, 503),
    (Unreachable, 503),
    (MusterError, 500),
)


def upgrade_required(hint: str) -> Response:
    """The answer to a plain request for what is a WebSocket."""
    response = problem(426, "upgrade-required", "this call is a WebSocket", hint=hint)
    response.headers["Upgrade"] = "websocket"
    return response


def install(app: FastAPI) -> None:
    app.add_exception_handler(MusterError, _muster_error)
    app.add_exception_handler(RequestValidationError, _bad_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(OSError, _system_error)
    app.add_exception_handler(Exception, _surprise)


def problem(status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    body = {
        "type": f"urn:muster:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        **{key: value for key, value in more.items() if value not in (None, "", [])},
    }
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(body, status, headers, MEDIA_TYPE)


def words_of(error: MusterError) -> str:
    """All that is known of an error in one text, for clients of other systems, which show nothing but the message."""
    problems = "; ".join(str(problem) for problem in getattr(error, "problems", ())[:_PROBLEMS_IN_TEXT])
    told = f"{error.message}: {problems}" if problems else error.message
    return f"{told} ({error.hint})" if error.hint else told


def words_of_request(error: RequestValidationError) -> str:
    """The same of a request that does not fit its route."""
    found = [f"{'.'.join(map(str, item['loc'][1:]))}: {item['msg']}" for item in error.errors()]
    return "; ".join(found[:_PROBLEMS_IN_TEXT])


def retry_later(response: JSONResponse, retry_after_s: float) -> JSONResponse:
    """Adds when to try again, in whole seconds, as HTTP writes it."""
    response.headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))
    return response


async def _muster_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, MusterError)
    return problem_of(error)


async def _gone(_: Request, __: Exception) -> Response:
    """Nobody reads this answer: the client went away, or was too slow, while it sent its request."""
    return Response(status_code=400)


def problem_of(error: MusterError) -> JSONResponse:
    status = next(code for cls, code in _STATUS if isinstance(error, cls))
    found = getattr(error, "problems", ())[:MAX_PROBLEMS]
    problems: list[ProblemItem] = [
        {"path": p.path, "message": p.message, "hint": p.hint, "line": p.line} for p in found
    ]
    more = {name: getattr(error, name, None) for name in ("received", "capability", "cluster")}
    warnings = list(error.warnings[:MAX_PROBLEMS])
    response = problem(status, error.code, error.message, hint=error.hint, problems=problems, warnings=warnings, **more)
    if isinstance(error, Unreachable):
        return retry_later(response, _ASK_A_NODE_AGAIN_S)
    return retry_later(response, error.retry_after_s) if isinstance(error, TooMany | Unavailable) else response


async def _bad_request(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems: list[ProblemItem] = [
        {
            "path": ".".join(str(part) for part in item["loc"]),
            "message": _in_plain_words(item),
            "hint": _hint(item),
            "line": None,
        }
        for item in error.errors()[:MAX_PROBLEMS]
    ]
    return problem(400, "bad-request", "the request is not well formed", problems=problems)


def _in_plain_words(item: Mapping[str, Any]) -> str:
    kind, given = item["type"], item.get("ctx") or {}
    if kind == "string_too_short":
        return f"must have at least {given['min_length']} characters"
    if kind == "string_too_long":
        return f"must have at most {given['max_length']} characters"
    if kind == "string_pattern_mismatch" and given["pattern"] in _PATTERNS:
        return _PATTERNS[given["pattern"]]
    if kind == "value_error":
        return str(given.get("error") or item["msg"])
    if kind == "extra_forbidden":
        return "is unknown"
    return "is required" if kind == "missing" else str(item["msg"])


def _hint(item: Mapping[str, Any]) -> str:
    is_long_file = item["type"] == "string_too_long" and item["loc"][-1:] == ("source",)
    return "put long values of the job into files of its package" if is_long_file else ""


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "bad-request")
    is_no_route = error.status_code == 404 and error.detail == HTTPStatus.NOT_FOUND.phrase
    detail = f"there is nothing at {request.url.path[:_SHOWN_PATH]}" if is_no_route else str(error.detail)
    # A name of the client's user with a slash in it, such as sweep/net, leads to no route.
    has_slash = is_no_route and b"%2f" in request.scope.get("raw_path", b"").lower()
    response = problem(error.status_code, code, detail, hint="names have no '/'" if has_slash else "")
    response.headers.update(error.headers or {})
    return response


async def _system_error(request: Request, error: Exception) -> JSONResponse:
    """A file of the server could not be written, of an upload for example."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return problem_of(StorageFull("the server"))
    return await _surprise(request, error)


async def _surprise(request: Request, error: Exception) -> JSONResponse:
    _log.error("unexpected error", method=request.method, path=request.url.path, exc_info=error)
    return problem(500, "internal", "an unexpected error; the server's log has the details")
