"""Fetches the outputs of a job: what is here already is not fetched again, what broke off is gone on with, and every
file is checked before it gets its name. No name of the server's leads out of the folder.
"""

import hashlib
import http.client
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muster.client.errors import MusterError, unreachable
from muster.client.output_views import OutputsView, OutputView
from muster.client.transport import Request, Transport, segment
from muster.lib.backoff import exponential

Progress = Callable[[int, int], None]
"""Called with the bytes that are here and the bytes there are."""

PARTIAL = ".muster-partial"
_READ_BYTES = 1 << 20
_FUTILE_TRIES = 5
_BROKEN = (OSError, http.client.HTTPException)


def download_all(
    transport: Transport,
    address: str,
    outputs: OutputsView,
    folder: Path,
    progress: Progress | None = None,
) -> list[Path]:
    """`address` is that of the job's outputs. The files, each where it is now."""
    total = sum(output.size for output in outputs.items)
    done = 0
    found = []
    for output in outputs.items:
        before = done

        def tell(received: int, before: int = before) -> None:
            if progress is not None:
                progress(before + received, total)

        place = place_in(folder, output.path)
        where = "/".join(segment(part) for part in output.path.split("/"))
        _download(transport, Request("GET", f"{address}/{where}", {"attempt": outputs.attempt}), output, place, tell)
        done += output.size
        found.append(place)
    return found


def place_in(folder: Path, path: str) -> Path:
    """Raises MusterError for a name that leads out of the folder."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts):
        raise MusterError(f"the server names an output {path!r}, which does not stay in the folder", code="bad-answer")
    return folder.joinpath(*parts)


def _download(
    transport: Transport, request: Request, output: OutputView, place: Path, tell: Callable[[int], None]
) -> None:
    if place.is_file() and place.stat().st_size == output.size and _digest(place) == output.sha256:
        tell(output.size)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f".{output.sha256[:16]}{PARTIAL}")
    _fill(transport, request, output.size, partial, tell)
    found = _digest(partial)
    if found != output.sha256:
        partial.unlink()
        raise MusterError(
            f"{output.path} has come with digest {found}, not {output.sha256}",
            code="bad-answer",
            hint="fetch it again; if that goes on, the server's disk may be broken",
        )
    partial.replace(place)


def _fill(transport: Transport, request: Request, size: int, partial: Path, tell: Callable[[int], None]) -> None:
    futile = 0
    with partial.open("ab") as file:
        if file.tell() > size:
            file.truncate(0)
        while file.tell() < size:
            before = file.tell()
            try:
                _read_on(transport, request, file, size, tell)
            except _BROKEN as error:
                futile = 0 if file.tell() > before else futile + 1
                if futile >= _FUTILE_TRIES:
                    raise unreachable(transport.server, str(error)) from error
                time.sleep(exponential(futile + 1, first_s=0.1, limit_s=2.0))


def _read_on(transport: Transport, request: Request, file: Any, size: int, tell: Callable[[int], None]) -> None:
    start = file.tell()
    headers = {"Accept": "application/octet-stream", **({"Range": f"bytes={start}-"} if start else {})}
    connection, response = transport.open(Request(request.method, request.path, request.query, headers=headers))
    try:
        if start and response.status != http.client.PARTIAL_CONTENT:
            file.truncate(0)  # whatever stands between us does not know ranges
        while chunk := response.read1(_READ_BYTES):
            file.write(chunk)
            tell(file.tell())
        if file.tell() < size:
            raise http.client.IncompleteRead(b"")
        if file.tell() > size:
            file.truncate(0)
            raise http.client.IncompleteRead(b"")
    finally:
        connection.close()
        file.flush()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
