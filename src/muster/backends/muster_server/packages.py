"""Passes packages and inputs on to the other server, by their digests: what is there already is not sent again."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

from muster.backends.muster_server.answers import ToldPackage
from muster.backends.muster_server.connection import OtherServer
from muster.domain.errors import BackendError, Conflict, NotFound
from muster.lib.quantities import about_bytes

_PIECE_BYTES = 4 << 20
_PIECE_S = 120.0


class PackageTransfer:
    def __init__(self, server: OtherServer) -> None:
        self._server = server
        self._sending: dict[str, tuple[int, int]] = {}
        """How much of each archive on its way has been sent, and how much there is, by its digest."""
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ensure(self, digest: str, path: Path) -> None:
        """Returns when the other server has the archive. One that broke off goes on from what has arrived."""
        async with self._locks[digest]:
            try:
                await self._send(digest, path)
            finally:
                self._sending.pop(digest, None)

    def progress(self, digests: Collection[str]) -> Iterator[str]:
        for digest in digests:
            if digest in self._sending:
                sent, size = self._sending[digest]
                yield f"{about_bytes(sent)} of {about_bytes(size)} of {digest[:12]} were sent to the other server"

    async def _send(self, digest: str, path: Path) -> None:
        told = await self._status(digest)
        if told.complete:
            return
        try:
            size = await asyncio.to_thread(lambda: path.stat().st_size)
            while not told.complete:
                received = told.received
                self._sending[digest] = received, size
                piece = await asyncio.to_thread(_piece, path, received)
                told = await self._put(digest, received, size, piece)
        except OSError as error:
            raise BackendError(f"the package {digest[:12]} cannot be read here: {error.strerror}") from error

    async def _put(self, digest: str, offset: int, size: int, piece: bytes) -> ToldPackage:
        try:
            answer = await self._server.request(
                "PUT",
                f"/packages/{digest}",
                params={"size": size, "offset": offset},
                content=piece,
                headers={"Content-Type": "application/octet-stream"},
                within_s=_PIECE_S,
            )
        except Conflict:  # somebody else sends it, too
            return await self._status(digest)
        return answer.read(ToldPackage)

    async def _status(self, digest: str) -> ToldPackage:
        try:
            return await self._server.get(ToldPackage, f"/packages/{digest}")
        except NotFound:
            return ToldPackage(complete=False, received=0)


def _piece(path: Path, offset: int) -> bytes:
    with path.open("rb") as archive:
        archive.seek(offset)
        return archive.read(_PIECE_BYTES)
