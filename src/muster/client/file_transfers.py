"""Moves one file to a cluster, or from it. An interrupted transfer is resumed, and the whole is checked by its sha256:
by `piece_upload` on the way there, by `downloading` on the way here.

A file that is there already, to the last bit, is not sent again; one that differs is replaced only by `force`.
"""

import os
from pathlib import Path
from typing import IO

from muster.client.downloading import Source, download, is_here, say_nothing
from muster.client.errors import MusterError
from muster.client.files import Files, FileView, RemotePath, Sending
from muster.client.piece_upload import CHUNK_BYTES, Moved, send
from muster.lib.partial_files import digest_of


def put(files: Files, local: Path, to: RemotePath, *, force: bool = False, tell: Moved = say_nothing) -> None:
    with local.open("rb") as file:
        size, digest = digest_of(file, tell=lambda: tell(0))
        executable = bool(local.stat().st_mode & 0o100)
        sending = Sending(to, size, digest.hexdigest(), force, executable)
        offset = _resume_point(files, file, sending, tell) if size > CHUNK_BYTES else 0
        moved = 0

        def count(more: int) -> None:
            nonlocal moved
            moved += more
            tell(more)

        def put_piece(start: int, data: bytes) -> tuple[int, bool]:
            return files.put_piece(sending, start, data)

        shown = f"the file for {to}"
        count(offset)
        try:
            send(file, size, offset, put_piece, count, shown)
        except MusterError as error:
            if error.status != 422:
                raise
            tell(-moved)  # what was left from before was not what it should be, and is gone now
            send(file, size, 0, put_piece, tell, shown)


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


def _resume_point(files: Files, file: IO[bytes], sending: Sending, tell: Moved) -> int:
    received, digest = files.received(sending)
    if not received:
        return 0
    if received <= sending.size and digest_of(file, received, lambda: tell(0))[1].hexdigest() == digest:
        return received
    files.abort(sending)
    return 0
