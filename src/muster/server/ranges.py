"""Answers the range of a Range header from bytes that are fetched on demand rather than read from a file."""

import re
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from muster.domain.dropped_bytes import DroppedBytes
from muster.server.problems import problem

_ONE_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


class LogContent(Protocol):
    """The bytes from `start` up to but not including `end`, with a line in place of dropped ones if `marked`."""

    def __call__(self, start: int, end: int, *, marked: bool = False) -> AsyncIterator[bytes]: ...


def ranged(
    request: Request, size: int, content: Callable[[int, int], AsyncIterator[bytes]], media_type: str
) -> Response:
    """`content(start, end)` yields the bytes from `start` up to but not including `end`. Several ranges, or one that
    cannot be parsed, are answered with everything, as HTTP allows."""
    wanted = _wanted(request, size)
    if wanted is None:
        headers = {"Accept-Ranges": "bytes", "Content-Length": str(size)}
        return StreamingResponse(content(0, size), media_type=media_type, headers=headers)
    return _part(*wanted, size, content, media_type)


def ranged_around(
    request: Request,
    size: int,
    dropped: DroppedBytes | None,
    content: LogContent,
    media_type: str,
) -> Response:
    """Like `ranged`, for a log from whose middle bytes may have been dropped. Without a range, the answer says where
    they were; a range has none of them. It ends before them, or is refused if it begins with one of them."""
    if dropped is None:
        return ranged(request, size, content, media_type)
    wanted = _wanted(request, size)
    if wanted is None:
        return StreamingResponse(
            content(0, size, marked=True), media_type=media_type, headers={"Accept-Ranges": "bytes"}
        )
    start, end = wanted
    if dropped.contains(start) and request.headers["range"].startswith("bytes=-"):
        start = dropped.end
    if dropped.contains(start):
        detail = f"the bytes {dropped.start} to {dropped.end - 1} of this log were dropped, as it exceeded its limit"
        refusal = problem(416, "dropped", detail, hint=f"ask for bytes={dropped.end}-, or for all that is kept")
        refusal.headers["Content-Range"] = f"bytes */{size}"
        return refusal
    return _part(start, min(end, dropped.start) if start < dropped.start else end, size, content, media_type)


def _wanted(request: Request, size: int) -> tuple[int, int] | None:
    """The first byte of the range, and the one behind its last. None: everything."""
    match = _ONE_RANGE.fullmatch(request.headers.get("range", ""))
    if match is None or match[0] == "bytes=-":
        return None
    if match[1]:
        return int(match[1]), min(int(match[2]) + 1, size) if match[2] else size
    return max(size - int(match[2]), 0), size


def _part(
    start: int, end: int, size: int, content: Callable[[int, int], AsyncIterator[bytes]], media_type: str
) -> Response:
    if start >= end:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Range": f"bytes {start}-{end - 1}/{size}",
        "Content-Length": str(end - start),
    }
    return StreamingResponse(content(start, end), 206, media_type=media_type, headers=headers)
