"""Refusals as OpenPAI words them: `{"code": ..., "message": ...}` with its own codes."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from muster.domain.errors import (
    BackendError,
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
from muster.server.problems import retry_later, words_of, words_of_request

CODES: tuple[tuple[type[MusterError], int, str], ...] = (
    (Invalid, 400, "InvalidParametersError"),
    (NotAuthenticated, 401, "UnauthorizedUserError"),
    (Forbidden, 403, "ForbiddenUserError"),
    (NotFound, 404, "NoApiError"),
    (Conflict, 409, "ConflictJobError"),
    (TooLarge, 413, "InvalidParametersError"),
    (TooMany, 429, "UnknownError"),
    (NotOffered, 501, "NotImplementedError"),
    (BadAnswer, 502, "UnknownError"),
    (StorageFull, 507, "UnknownError"),
    (Unavailable, 503, "UnknownError"),
    (Unreachable, 503, "UnknownError"),
    (BackendError, 500, "UnknownError"),
    (MusterError, 500, "UnknownError"),
)
"""The status and the code of each kind of error, unless a route knows a better one. The first that fits applies."""


class PaiError(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class PaiRoute(APIRoute):
    """A route whose errors are answered in OpenPAI's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            if "\0" in request.scope["path"] or b"%00" in request.scope["query_string"]:
                return refusal(400, "InvalidParametersError", "the address has a NUL, which no name has")
            try:
                return await handle(request)
            except PaiError as error:
                return refusal(error.status, error.code, error.message)
            except MusterError as error:
                return refusal_of(error)
            except RequestValidationError as error:
                return refusal(400, "InvalidParametersError", words_of_request(error))
            except HTTPException as error:
                return refusal(error.status_code, "InvalidParametersError", str(error.detail))

        return handled


def refusal(status: int, code: str, message: str) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"code": code, "message": message}, status, headers)


def refusal_of(error: MusterError) -> JSONResponse:
    status, code = next((status, code) for kind, status, code in CODES if isinstance(error, kind))
    answer = refusal(status, code, words_of(error))
    return retry_later(answer, error.retry_after_s) if isinstance(error, TooMany | Unavailable) else answer
