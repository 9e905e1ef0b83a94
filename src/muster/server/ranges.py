"""Answers the range of a Range header from bytes that are fetched on demand rather than read from a file."""

import re
from collections.abc import AsyncIterator, Callable

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

_ONE_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def ranged(
    request: Request, size: int, content: Callable[[int, int], AsyncIterator[bytes]], media_type: str
) -> Response:
    """`content(start, end)` yields the bytes from `start` up to but not including `end`. Several ranges, or one that
    cannot be parsed, are answered with everything, as HTTP allows."""
    match = _ONE_RANGE.fullmatch(request.headers.get("range", ""))
    headers = {"Accept-Ranges": "bytes"}
    if match is None or match[0] == "bytes=-":
        headers["Content-Length"] = str(size)
        return StreamingResponse(content(0, size), media_type=media_type, headers=headers)
    if match[1]:
        start, end = int(match[1]), min(int(match[2]) + 1, size) if match[2] else size
    else:
        start, end = max(size - int(match[2]), 0), size
    if start >= end:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    headers |= {"Content-Range": f"bytes {start}-{end - 1}/{size}", "Content-Length": str(end - start)}
    return StreamingResponse(content(start, end), 206, media_type=media_type, headers=headers)
