"""Files of people, read and written by the protocol of `pieces` inside the folders that they may see. The partial file
of an upload is in the folder of its target."""

from __future__ import annotations

import errno
import os
import stat
from typing import Optional

from muster.agent.errors import AgentError
from muster.agent.files.confined import Place, Walk, exists, reading
from muster.agent.files.digests import Digests
from muster.agent.files.file_errors import EXISTS
from muster.agent.files.leftovers import PARTIAL_PREFIX, Leftovers
from muster.agent.files.pieces import Answer, PartialFile, PieceOrder, Step, read_piece
from muster.agent.files.stepwise import Work


def read(place: Place, offset: int, limit: int, wanted: Optional[str]) -> Answer:
    with Walk(place.root) as walk, reading(walk.find(place.parts)) as file:
        mode = stat.S_IMODE(os.fstat(file).st_mode)
        return {**read_piece(file, offset, limit, wanted), "mode": mode}


class Uploads:
    """Pieces of one upload take turns; different uploads do not wait for each other."""

    def __init__(self, digests: Digests, leftovers: Leftovers) -> None:
        self._digests = digests
        self._leftovers = leftovers
        self._order = PieceOrder()

    def received(self, place: Place, upload: str) -> Answer:
        with Walk(place.root) as walk:
            folder = walk.enter(place.parts[:-1])
            self._leftovers.keep(_name(upload), folder)
            return {"size": _partial(upload, folder).size()}

    def write(self, place: Place, upload: str, offset: int, data: bytes, overwrite: bool) -> Step:
        """Must be called when the piece arrives; returns the work for a thread."""
        piece = self._order.in_order(_name(upload), lambda: self._written(place, upload, offset, data, overwrite))

        def write() -> Answer:
            if offset == 0:
                self._remove_old(place)
            return piece()

        return write

    def commit(self, place: Place, upload: str, size: int, sha256: str, overwrite: bool, executable: bool) -> Work:
        with Walk(place.root) as walk:
            folder = walk.enter(place.parts[:-1])
            self._leftovers.keep(_name(upload), folder)
            yield from _partial(upload, folder).commit(
                place.name, self._digests, sha256, size, overwrite=overwrite, executable=executable
            )

    def abort(self, place: Place, upload: str) -> Answer:
        with Walk(place.root) as walk, self._order.lock(_name(upload)):
            _partial(upload, walk.enter(place.parts[:-1])).remove()
        return {}

    def part_digest(self, place: Place, upload: str) -> Work:
        with Walk(place.root) as walk:
            yield from _partial(upload, walk.enter(place.parts[:-1])).digest(self._digests)

    def _written(self, place: Place, upload: str, offset: int, data: bytes, overwrite: bool) -> Answer:
        with Walk(place.root) as walk:
            folder = walk.enter(place.parts[:-1])
            if not overwrite and exists(place.name, folder):
                raise AgentError(EXISTS, "it exists already")
            partial = _partial(upload, folder)
            try:
                return partial.write(offset, data)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    partial.remove()  # half a file must not keep a disk full on which tasks run
                raise

    def _remove_old(self, place: Place) -> None:
        try:
            with Walk(place.root) as walk:
                self._leftovers.remove_old(walk.enter(place.parts[:-1]), self._order.lock)
        except (OSError, AgentError):
            return  # the write itself says what is wrong with the folder


def _name(upload: str) -> str:
    return PARTIAL_PREFIX + upload


def _partial(upload: str, folder: int) -> PartialFile:
    return PartialFile(_name(upload), folder)
