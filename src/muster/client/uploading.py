"""Sends a package that the server does not have yet, in pieces, from where an earlier try stopped."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from muster.client.errors import MusterError
from muster.client.piece_upload import CHUNK_BYTES, put_piece, send
from muster.client.transport import API, Request, Transport

if TYPE_CHECKING:
    from muster.client.packing import Package

Progress = Callable[[int, int], None]
"""Called with the number of bytes that the server has and with the number of all bytes."""
Announce = Callable[[Path, int], None]
"""Is called before something is packed, with its path and how many files and folders its rules leave out."""
_ANSWER_S = 120.0


def upload(
    transport: Transport, package: "Package", progress: Progress | None = None, chunk_bytes: int = CHUNK_BYTES
) -> None:
    """Return once the server has the whole package. A package that it has already costs one small request."""
    path = f"{API}/packages/{package.digest}"
    received, complete = _known(transport, path)

    def moved(count: int) -> None:
        nonlocal received
        received += count
        if progress is not None:
            progress(received, package.size)

    def put(offset: int, data: bytes) -> tuple[int, bool]:
        return put_piece(transport, path, {"size": package.size}, offset, data, _ANSWER_S)

    moved(package.size - received if complete else 0)
    if not complete:
        send(package.file, package.size, received, put, moved, "the package", chunk_bytes)


def _known(transport: Transport, path: str) -> tuple[int, bool]:
    try:
        answer = transport.json(Request("GET", path))
    except MusterError as error:
        if error.status == 404:
            return 0, False
        raise
    return int(answer["received"]), bool(answer["complete"])
