"""One file to a cluster, or from it: what was interrupted goes on where it was, and the end is checked by sha256 (for
the way here `downloading` sees to both).

What is there already, to the last bit, is not sent again; what is there and differs is replaced only by `force`.
"""

import os
from pathlib import Path
from typing import IO

from muster.client.downloading import Moved, Source, digest_of, download, is_here, say_nothing
from muster.client.errors import MusterError
from muster.client.files import Files, FileView, RemotePath, Sending
from muster.client.retry_window import Patience

CHUNK_BYTES = 4 << 20


def put(files: Files, local: Path, to: RemotePath, *, force: bool = False, tell: Moved = say_nothing) -> None:
    with local.open("rb") as file:
        size, digest = digest_of(file, None, tell)
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
    tell: Moved = say_nothing,
) -> None:
    facts = facts or files.stat(where)
    if facts.kind != "file":
        hint = "whole folders need -r" if facts.kind == "folder" else ""
        raise MusterError(f"{where} is not a file but a {facts.kind}", code="wrong-kind", status=409, hint=hint)
    source = source_of(files, where, facts)
    if os.path.lexists(local) and not force:
        if is_here(source, local, tell):
            tell(facts.size)
            return
        raise MusterError(
            f"{local} exists already and differs from {where}",
            code="exists",
            status=409,
            hint="replace it with --force, or choose another name",
        )
    download(source, local, tell)


def source_of(files: Files, where: RemotePath, facts: FileView) -> Source:
    return Source(
        str(where),
        facts.size,
        f"{where}\0{facts.version}",
        files.server,
        lambda offset: files.content(where, offset),
        lambda: files.digest(where),
        etag=f'"{facts.version}"',
        is_executable=facts.is_executable,
    )


def _send(files: Files, file: IO[bytes], sending: Sending, offset: int, tell: Moved) -> None:
    complete = False
    patience = Patience()
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
        try:
            received, complete = files.put_piece(sending, offset, data)
        except MusterError as error:
            patience.wait(error)
            continue
        patience.restore()
        tell((sending.size if complete else received) - offset)
        offset = received


def _resume_point(files: Files, file: IO[bytes], sending: Sending, tell: Moved) -> int:
    received, digest = files.received(sending)
    if not received:
        return 0
    if received <= sending.size and digest_of(file, received, tell)[1].hexdigest() == digest:
        return received
    files.abort(sending)
    return 0
