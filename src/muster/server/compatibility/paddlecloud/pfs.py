"""The files of paddlecloud's storage: list, look, remove, and make folders and files."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from muster.domain.errors import Conflict, Forbidden, Invalid, MusterError, NotFound
from muster.engine.requests.accounts import Principal
from muster.ports.files import DiskFull, Exists, FileKind, Outside, WrongKind
from muster.server.compatibility.paddlecloud.answering import InWords, both, words
from muster.server.compatibility.paddlecloud.pfs_listing import listed, matching, result
from muster.server.compatibility.paddlecloud.pfs_paths import UNAUTHORIZED, PfsPath, found, make_home, storage_caller
from muster.server.services import Services, services

PREFIXES = ("/api/v1/pfs", "/api/v1")
"""Clients of before July 2017 leave out `pfs`."""
MAX_FILE_BYTES = 1 << 40
MAX_JSON_BYTES = 2048
MAX_PATHS = 100
_NO_SUCH = "no such file or directory"
_NOT_ENOUGH = "not enough arguments"
_BAD_JSON = "parse json error"
_WORDS: tuple[tuple[type[MusterError], str], ...] = (
    (NotFound, _NO_SUCH),
    (Outside, UNAUTHORIZED),
    (Exists, "already exist"),
    (WrongKind, "should be a file not a directory"),
)
"""What clients look for in an error. What happened in Muster's words follows."""


class PfsRoute(InWords):
    """`{"err": …, "results": …}`, as the file server answers."""

    def refused(self, error: MusterError) -> Response:
        return answered(None, pfs_words(error))


def answered(results: Any, err: str = "", status: int = 200) -> Response:
    return JSONResponse({"err": err, "results": results}, status)


def pfs_words(error: MusterError) -> str:
    known = next((said for kind, said in _WORDS if type(error) is kind), "")
    return f"{known}: {words(error)}" if known and known not in error.message else words(error)


router = APIRouter(route_class=PfsRoute, include_in_schema=False)
Me = Annotated[Principal, Depends(storage_caller)]
Parts = Annotated[Services, Depends(services)]


async def look(
    me: Me,
    parts: Parts,
    method: str = "",
    r: Annotated[str | None, Query(max_length=8)] = None,
    arg: Annotated[list[str] | None, Query()] = None,
    path: Annotated[str | None, Query()] = None,
) -> Response:
    if method == "stat":
        if not path:
            raise Invalid(_NOT_ENOUGH)
        pfs = await found(parts, me, path)
        return answered({**result(pfs, await parts.files.stat(me.user, pfs.address)), "Path": path})
    if method != "ls":
        return answered(None, status=405)
    if r is None or not arg:
        raise Invalid(_NOT_ENOUGH)
    recursive = _flag(r)
    results = []
    for one in arg[:MAX_PATHS]:
        pfs = await found(parts, me, one)
        places = await matching(parts, me, pfs)
        if not places and pfs.rest:
            raise NotFound(_NO_SUCH)
        for place in places or [pfs]:
            results += await listed(parts, me, place, recursive=recursive)
    return answered(results)


async def change(request: Request, me: Me, parts: Parts) -> Response:
    body = await _body(request)
    match body.get("method"):
        case "rm":
            return answered([{"path": path} for path in await _removed(parts, me, body)])
        case "mkdir":
            return answered([{"path": path} for path in await _made(parts, me, body)])
        case "touch":
            return answered({"path": await _touched(parts, me, body)})
        case _:
            return answered(None, status=405)


for _prefix in PREFIXES:
    for _path in both(f"{_prefix}/files"):
        router.add_api_route(_path, look, methods=["GET"], include_in_schema=False)
        router.add_api_route(_path, change, methods=["POST", "DELETE"], include_in_schema=False)


async def _removed(parts: Services, me: Principal, body: dict[str, Any]) -> list[str]:
    recursive = body.get("r") is True
    removed = []
    for path in _paths(body):
        pfs = await found(parts, me, path, changing=True)
        if not pfs.rest:
            raise Forbidden(UNAUTHORIZED, hint="your home itself stays")
        for place in await matching(parts, me, pfs):
            facts = await parts.files.stat(me.user, place.address)
            if facts.kind is FileKind.FOLDER and not recursive:
                raise Conflict(f"can't del directory:{place.shown}")
            await _remove(parts, me, place, recursive=recursive)
            removed.append(place.shown)
    return removed


async def _remove(parts: Services, me: Principal, place: PfsPath, *, recursive: bool) -> None:
    run: str | None = None
    is_done = False
    while not is_done:
        running = await parts.files.remove(me.user, place.address, run, recursive=recursive)
        run, is_done = running.run, running.tally.done


async def _made(parts: Services, me: Principal, body: dict[str, Any]) -> list[str]:
    made = []
    for path in _paths(body):
        pfs = await found(parts, me, path, changing=True)
        await make_home(parts, me, pfs)
        try:
            await parts.files.make_folder(me.user, pfs.address, parents=True)
        except WrongKind:
            raise Exists(f"already exist: {path}") from None
        made.append(path)
    return made


async def _touched(parts: Services, me: Principal, body: dict[str, Any]) -> str:
    path, size = body.get("path"), body.get("filesize", 0)
    if not isinstance(path, str) or not path:
        raise Invalid(_NOT_ENOUGH)
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MAX_FILE_BYTES:
        raise Invalid(f"bad file size:{size!r:.40}")
    pfs = await found(parts, me, path, changing=True)
    if not pfs.rest:
        raise Conflict("directory already exist")
    await make_home(parts, me, pfs)
    try:
        await parts.files.resize(me.user, pfs.address, size)
    except WrongKind:
        raise Conflict("directory already exist") from None
    except DiskFull:
        raise Invalid(f"bad file size:{size}", hint="the disk cannot hold it") from None
    return path


def _paths(body: dict[str, Any]) -> list[str]:
    found = body.get("path")
    paths = [found] if isinstance(found, str) else found
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str) for path in paths):
        raise Invalid(_NOT_ENOUGH)
    if len(paths) > MAX_PATHS:
        raise Invalid("invalid arguments", hint=f"at most {MAX_PATHS} paths at once")
    return paths


async def _body(request: Request) -> dict[str, Any]:
    raw = await request.body()
    try:
        body = json.loads(raw) if len(raw) <= MAX_JSON_BYTES else None
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Invalid(_BAD_JSON)
    return body


def _flag(value: str) -> bool:
    known = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
    if value.lower() not in known:
        raise Invalid("invalid arguments:r")
    return known[value.lower()]
