"""Sends a package that the server does not have yet, in chunks, from where an earlier try stopped."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from muster.client.errors import MusterError
from muster.client.transport import API, Request, Transport

if TYPE_CHECKING:
    from muster.client.packing import Package

CHUNK_BYTES = 4 << 20
Progress = Callable[[int, int], None]
"""Called with the bytes that the server has and the bytes there are."""


def upload(transport: Transport, package: "Package", progress: Progress | None = None) -> None:
    """Returns once the server has all of it. A package already there costs one small request."""
    tell = progress or _say_nothing
    path = f"{API}/packages/{package.digest}"
    received, complete = _known(transport, path)
    while not complete:
        tell(received, package.size)
        package.file.seek(received)
        chunk = package.file.read(CHUNK_BYTES)
        received, complete = _put(transport, path, package, received, chunk)
    tell(package.size, package.size)


def _known(transport: Transport, path: str) -> tuple[int, bool]:
    try:
        answer = transport.json(Request("GET", path))
    except MusterError as error:
        if error.status == 404:
            return 0, False
        raise
    return int(answer["received"]), bool(answer["complete"])


def _put(transport: Transport, path: str, package: "Package", offset: int, chunk: bytes) -> tuple[int, bool]:
    request = Request(
        "PUT",
        path,
        query={"offset": offset, "size": package.size},
        body=chunk,
        headers={"Content-Type": "application/octet-stream"},
        answer_s=120.0,
    )
    try:
        answer = transport.json(request)
    except MusterError as error:
        received = error.raw.get("received")
        if error.status == 409 and isinstance(received, int) and received != offset:
            return received, False  # a chunk whose answer was lost had arrived, or another client sends the same
        raise
    return int(answer["received"]), bool(answer["complete"])


def _say_nothing(_received: int, _total: int) -> None:
    return None
