"""One file to a cluster, or from it: what was interrupted goes on where it was, and the end is checked by sha256.

What is there already, to the last bit, is not sent again; what is there and differs is replaced only by `force`.
"""

import hashlib
import http.client
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from muster.client.errors import BAD_ANSWER, MusterError, unreachable
from muster.client.files import Files, FileView, RemotePath, Sending
from muster.lib.backoff import exponential

CHUNK_BYTES = 4 << 20
PART = ".part"
_READ_BYTES = 1 << 20
_TRIES = 5
Moved = Callable[[int], None]
"""Called with the bytes that were moved since the call before; 0 while something is being checked."""


def _say_nothing(_count: int) -> None:
    return None


def put(files: Files, local: Path, to: RemotePath, *, force: bool = False, tell: Moved = _say_nothing) -> None:
    with local.open("rb") as file:
        size, digest = _digest(file, None, tell)
        executable = bool(local.stat().st_mode & 0o100)
        sending = Sending(to, size, digest.hexdigest(), force, executable)
        offset = _resume_point(files, file, sending, tell) if size > CHUNK_BYTES else 0
        moved = 0

        def count(more: int) -> None:
            nonlocal moved
            moved += more
            tell(more)

        count(offset)
        try:
            _send(files, file, sending, offset, count)
        except MusterError as error:
            if error.status != 422:
                raise
            tell(-moved)  # what was left from before was not what it should be, and is gone now
            _send(files, file, sending, 0, tell)


def get(
    files: Files,
    where: RemotePath,
    local: Path,
    *,
    facts: FileView | None = None,
    force: bool = False,
    tell: Moved = _say_nothing,
) -> None:
    """Leaves a `.part` beside the target while it is not whole."""
    facts = facts or files.stat(where)
    if facts.kind != "file":
        hint = "whole folders need -r" if facts.kind == "folder" else ""
        raise MusterError(f"{where} is not a file but a {facts.kind}", code="wrong-kind", status=409, hint=hint)
    if local.exists() and not force:
        if _is_same(files, where, facts, local, tell):
            tell(facts.size)
            return
        raise MusterError(
            f"{local} exists already and differs from {where}",
            code="exists",
            status=409,
            hint="replace it with --force, or choose another name",
        )
    part = local.with_name(local.name + PART)
    found, expected = _fetch(files, where, facts, part, tell)
    if found != (expected or files.digest(where)):
        part.unlink()
        raise MusterError(
            f"{where} arrived with sha256 {found}, which is not what the node has",
            code="digest",
            status=422,
            hint="the file may have changed meanwhile; get it again",
        )
    if facts.is_executable:
        part.chmod(part.stat().st_mode | 0o100)
    part.replace(local)


def _send(files: Files, file: IO[bytes], sending: Sending, offset: int, tell: Moved) -> None:
    complete = False
    while not complete:
        file.seek(offset)
        data = file.read(CHUNK_BYTES)
        if offset + len(data) > sending.size or (not data and offset < sending.size):
            raise MusterError(
                f"the file for {sending.to} changed while it was sent",
                code="changed",
                status=409,
                hint="put it again when nobody writes to it",
            )
        received, complete = files.put_piece(sending, offset, data)
        tell((sending.size if complete else received) - offset)
        offset = received


def _resume_point(files: Files, file: IO[bytes], sending: Sending, tell: Moved) -> int:
    received, digest = files.received(sending)
    if not received:
        return 0
    if received <= sending.size and _digest(file, received, tell)[1].hexdigest() == digest:
        return received
    files.abort(sending)
    return 0


def _is_same(files: Files, where: RemotePath, facts: FileView, local: Path, tell: Moved) -> bool:
    if not local.is_file() or local.stat().st_size != facts.size:
        return False
    with local.open("rb") as file:
        return str(_digest(file, None, tell)[1].hexdigest()) == files.digest(where)


def _fetch(files: Files, where: RemotePath, facts: FileView, part: Path, tell: Moved) -> tuple[str, str]:
    """The digest of what came, and what the server said it should be, if it said so."""
    with part.open("a+b") as file:
        offset, digest = _kept(files, where, facts, file, tell)
        file.truncate(offset)
        tell(offset)
        arriving = Arriving(files, where, facts)
        for data in arriving.pieces(offset):
            file.write(data)
            digest.update(data)
            tell(len(data))
    return digest.hexdigest(), arriving.expected


def _kept(files: Files, where: RemotePath, facts: FileView, file: IO[bytes], tell: Moved) -> tuple[int, Any]:
    """How much of an earlier try is good, with the digest so far."""
    size = file.seek(0, 2)
    if 0 < size <= facts.size:
        _, digest = _digest(file, size, tell)
        if files.digest(where, size) == digest.hexdigest():
            return size, digest
    return 0, hashlib.sha256()


class Arriving:
    """The bytes of one file, over as many connections as it takes."""

    def __init__(self, files: Files, where: RemotePath, facts: FileView) -> None:
        self._files = files
        self._where = where
        self._facts = facts
        self.expected = ""
        """The sha256 of the whole file, if the server said it."""

    def pieces(self, offset: int) -> Iterator[bytes]:
        tries = 0
        while offset < self._facts.size:
            why = f"the connection broke after {offset} bytes of {self._where}"
            try:
                with self._files.content(self._where, offset) as response:
                    _check_version(response, self._facts, self._where)
                    self.expected = response.headers.get("X-Checksum", "").removeprefix("sha256:")
                    while data := response.read(_READ_BYTES):
                        yield data
                        offset += len(data)
                        tries = 0
            except (OSError, http.client.HTTPException) as error:
                why = str(error) or why
            if offset < self._facts.size:
                tries += 1
                if tries > _TRIES:
                    raise unreachable(self._files.server, why)
                time.sleep(exponential(tries, first_s=0.2, limit_s=5.0))


def _check_version(response: http.client.HTTPResponse, facts: FileView, where: RemotePath) -> None:
    version = response.headers.get("ETag", "").strip('"')
    if not version:
        raise MusterError(f"the server gave {where} no version", code=BAD_ANSWER, status=response.status)
    if facts.version and version != facts.version:
        raise MusterError(
            f"{where} changed while it was fetched",
            code="changed",
            status=409,
            hint="get it again when nobody writes to it",
        )


def _digest(file: IO[bytes], length: int | None, tell: Moved) -> tuple[int, Any]:
    """Of the first bytes, or of all: how many they are, and their digest, which can go on."""
    file.seek(0)
    digest = hashlib.sha256()
    done = 0
    while length is None or done < length:
        data = file.read(_READ_BYTES if length is None else min(_READ_BYTES, length - done))
        if not data:
            break
        digest.update(data)
        done += len(data)
        tell(0)
    return done, digest
