"""The HTTP interface: `POST /v1/records`, `GET /v1/jobs`, `GET /v1/jobs/RECEIVER/ID`, `GET /v1/status`, `GET
/healthz`."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from muster.logserver.history import MAX_PAGE, BadQuery, JobQuery
from muster.logserver.reading import Reader, Unreadable
from muster.logserver.records import MAX_BODY_BYTES, BadRecords, read_request
from muster.logserver.storage import DiskFull, StorageRefuses
from muster.logserver.writing import Busy, Writer
from muster.version import __version__

_log = structlog.get_logger("logserver")
_BODY_WITHIN_S = 60.0
_EQUAL = ("receiver", "owner", "cluster", "state")
_TEXTS = ("text", "since", "until", "cursor")
NAME = "muster-logserver"
"""The status says it, so that a server notices that it was given the address of something else."""

Handler = Callable[[Request], Awaitable[Response]]


def create_app(writer: Writer, reader: Reader, token: str, about: Callable[[], dict[str, Any]]) -> Starlette:
    """Without a token, nobody is asked for one. `about` adds to the status."""
    routes = _Routes(writer, reader, about)
    guarded = _Guard(token)
    return Starlette(
        routes=[
            Route("/healthz", _healthz),
            Route("/v1/records", guarded(routes.take), methods=["POST"]),
            Route("/v1/jobs", guarded(routes.jobs)),
            Route("/v1/jobs/{receiver}/{job_id}", guarded(routes.job)),
            Route("/v1/status", guarded(routes.status)),
        ],
        exception_handlers={HTTPException: _plain_error, Unreadable: _unreadable},
    )


class _Guard:
    def __init__(self, token: str) -> None:
        self._digest = sha256(token.encode()).digest() if token else None

    def __call__(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            if not self._admits(request.headers.get("authorization", "")):
                return problem(401, "not-authenticated", "the token is missing or wrong", _TOKEN_HINT)
            return await handler(request)

        return guarded

    def _admits(self, header: str) -> bool:
        scheme, _, given = header.partition(" ")
        digest = sha256(given.strip().encode("utf-8", "surrogateescape")).digest()
        return self._digest is None or (hmac.compare_digest(digest, self._digest) and scheme.lower() == "bearer")


_TOKEN_HINT = "send Authorization: Bearer TOKEN, with the token that the log server was started with"  # noqa: S105


class _Routes:
    def __init__(self, writer: Writer, reader: Reader, about: Callable[[], dict[str, Any]]) -> None:
        self._writer = writer
        self._reader = reader
        self._about = about

    async def take(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(_BODY_WITHIN_S):
                records = read_request(await _body(request))
            found = await self._writer.store(records)
        except BadRecords as error:
            status = 413 if error.is_too_large else 400
            return problem(status, "bad-records", str(error), "nothing of the request was stored", error.problems)
        except (TimeoutError, ClientDisconnect):
            return problem(408, "too-slow", f"the request did not arrive within {_BODY_WITHIN_S:g} s", "send it again")
        except DiskFull as error:
            _log.error("records are refused: the disk is full", error=str(error))
            return problem(507, "disk-full", f"the disk of the log server is full: {error}", _FULL_HINT)
        except (StorageRefuses, Busy) as error:
            _log.error("records are refused", error=str(error))
            return problem(503, "unavailable", f"the log server cannot store records: {error}", "send it again later")
        if found.conflicts:
            _log.error("a record came again with another content; the first one is kept", count=found.conflicts)
        answer = {"stored": found.stored, "repeated": found.repeated, "conflicts": found.conflicts}
        return JSONResponse(answer)

    async def jobs(self, request: Request) -> Response:
        try:
            query = _query(request)
            return JSONResponse(await self._reader.read(lambda history: history.jobs(query)))
        except BadQuery as error:
            return problem(400, "bad-query", str(error), "")

    async def job(self, request: Request) -> Response:
        receiver, job_id = request.path_params["receiver"], request.path_params["job_id"]
        found = await self._reader.read(lambda history: history.job(receiver, job_id))
        if found is None:
            return problem(404, "not-found", f"there is no job {job_id} of receiver {receiver}", "see /v1/jobs")
        return JSONResponse(found)

    async def status(self, _request: Request) -> Response:
        receivers = await self._reader.read(lambda history: history.receivers())
        return JSONResponse({"name": NAME, "version": __version__, "receivers": receivers, **self._about()})


_FULL_HINT = "nothing of the request was stored; make room there, and it is taken"


async def _healthz(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _plain_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "not-found", 405: "not-allowed"}.get(error.status_code, "error")
    return problem(error.status_code, code, error.detail, "see the guide to the log server")


async def _unreadable(_request: Request, error: Exception) -> Response:
    return problem(503, "unavailable", str(error), "ask again later")


async def _body(request: Request) -> bytes:
    """Raises BadRecords if it is too large, before all of it has come."""
    too_large = BadRecords(f"a request may have {MAX_BODY_BYTES} bytes", is_too_large=True)
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > MAX_BODY_BYTES:
        raise too_large
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise too_large
        parts.append(part)
    return b"".join(parts)


def _query(request: Request) -> JobQuery:
    given = dict(request.query_params)
    if unknown := given.keys() - {*_EQUAL, *_TEXTS, "limit"}:
        raise BadQuery(f"there is no parameter {sorted(unknown)[0]}")
    limit = given.get("limit", "100")
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit) <= MAX_PAGE:
        raise BadQuery(f"limit must be a number from 1 to {MAX_PAGE}")
    texts = {name: given[name] for name in _TEXTS if name in given}
    return JobQuery({name: given[name] for name in _EQUAL if name in given}, **texts, limit=int(limit))


def problem(
    status: int, code: str, detail: str, hint: str, problems: list[dict[str, str]] | None = None
) -> JSONResponse:
    body = {"title": code, "status": status, "code": code, "detail": detail, "hint": hint}
    headers = {"Retry-After": "5"} if status in (503, 507) else None
    more = {"problems": problems} if problems else {}
    return JSONResponse({**body, **more}, status, headers, "application/problem+json")
