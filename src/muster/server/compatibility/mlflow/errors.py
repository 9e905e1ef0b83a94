"""Refusals as MLflow words them: `{"error_code": ..., "message": ...}` with its own codes."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from muster.domain.errors import (
    Conflict,
    Forbidden,
    Invalid,
    MusterError,
    NotAuthenticated,
    NotFound,
    NotOffered,
    TooLarge,
    TooMany,
    Unavailable,
)
from muster.server.problems import retry_later, words_of, words_of_request

NOT_THERE, EXISTS, WRONG = "RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS", "INVALID_PARAMETER_VALUE"
CODES: tuple[tuple[type[MusterError], int, str], ...] = (
    (Invalid, 400, WRONG),
    (NotAuthenticated, 401, "UNAUTHENTICATED"),
    (Forbidden, 403, "PERMISSION_DENIED"),
    (NotFound, 404, NOT_THERE),
    (Conflict, 400, EXISTS),
    (TooLarge, 400, WRONG),
    (TooMany, 429, "REQUEST_LIMIT_EXCEEDED"),
    (NotOffered, 501, "NOT_IMPLEMENTED"),
    (Unavailable, 503, "TEMPORARILY_UNAVAILABLE"),
    (MusterError, 500, "INTERNAL_ERROR"),
)
"""The status and the code of each kind of error. The first that fits applies."""


class MlflowRoute(APIRoute):
    """A route whose errors are answered in MLflow's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except MusterError as error:
                return refusal_of(error)
            except RequestValidationError as error:
                return refusal(400, WRONG, words_of_request(error))
            except HTTPException as error:
                return refusal(error.status_code, "BAD_REQUEST", str(error.detail))

        return handled


def refusal(status: int, code: str, message: str) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"error_code": code, "message": message}, status, headers)


def refusal_of(error: MusterError) -> JSONResponse:
    status, code = next((status, code) for kind, status, code in CODES if isinstance(error, kind))
    answer = refusal(status, code, words_of(error))
    return retry_later(answer, error.retry_after_s) if isinstance(error, TooMany | Unavailable) else answer
