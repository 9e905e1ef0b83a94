"""Files in the folders of a cluster, which people list, read and change. Every change leaves an audit event.

An operation that may take long goes on for a moment and answers how far it is; the caller asks again with the same
`run`.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from muster.domain.accounts import User
from muster.domain.audit_kinds import AuditKind
from muster.domain.clusters import Folder
from muster.domain.errors import Invalid, MusterError, NotFound
from muster.engine.context import Context
from muster.engine.data.file_places import Address, Places
from muster.engine.data.upload_checks import check_piece, check_sha256
from muster.engine.state.event_builders import audit_event
from muster.lib.ids import new_id
from muster.lib.recent import Recent
from muster.ports.files import (
    MAX_PIECE_BYTES,
    Exists,
    FileFacts,
    FileKind,
    FileSpace,
    Hashed,
    Listing,
    Piece,
    Place,
    Tally,
    Upload,
    WrongOffset,
)
from muster.ports.store import Change

_ANSWER_WITHIN_S = 5.0
_WRITE_BYTES = MAX_PIECE_BYTES
_RUN = re.compile(r"[0-9a-z]{16}")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Sending:
    """A file that a client uploads, as the client announces it with every piece."""

    size: int
    sha256: str
    overwrite: bool = False
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    received: int
    complete: bool
    sha256: str | None = None
    """The digest of the bytes received, if it was asked for and is known."""


@dataclass(frozen=True, slots=True)
class Running:
    run: str
    tally: Tally


class Files:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._places = Places(context)
        self._written = Recent()
        """Which files users have written to in place a short while ago."""

    def folders(self, user: User, cluster: str) -> list[Folder]:
        return self._places.folders(user, cluster)

    async def list(self, user: User, where: Address, *, limit: int, cursor: str | None) -> Listing:
        return await self._space(user, where).list(self._places.place(user, where), limit=limit, cursor=cursor)

    async def stat(self, user: User, where: Address) -> FileFacts:
        return await self._space(user, where).stat(self._places.place(user, where))

    async def read(self, user: User, where: Address, start: int, end: int, version: str) -> AsyncIterator[bytes]:
        """The bytes of this version of the file; raises Changed in the middle if the file changes. The next piece is on
        its way while one is used."""
        place, space = self._places.place(user, where), self._space(user, where)

        def ask(offset: int) -> asyncio.Task[Piece]:
            limit = min(MAX_PIECE_BYTES, end - offset)
            return asyncio.create_task(space.read(place, offset, limit, version=version))

        coming = ask(start) if start < end else None
        try:
            while coming is not None:
                data = (await coming).data
                start += len(data)
                coming = ask(start) if data and start < end else None
                yield data
        finally:
            if coming is not None:
                coming.cancel()

    async def digest(self, user: User, where: Address, run: str | None, length: int | None) -> tuple[str, Hashed]:
        place, run = self._places.place(user, where), _run(run)
        space, key = self._space(user, where), _scoped(user, run)
        return run, await _until_known(lambda: space.digest(place, key, length=length))

    # -- uploading ----------------------------------------------------------------------------------------------

    async def received(self, user: User, where: Address, sending: Sending, *, check: bool) -> Receipt:
        """How much has been received; with `check` also the digest of it, once it is known."""
        place, upload = self._uploading(user, where, sending)
        space = self._space(user, where)
        size = await space.received(place, upload)
        if size is None:
            raise NotFound(f"nothing of {place.shown} has been received")
        found = await _until_known(lambda: space.digest(place, upload.key, upload=upload)) if check else None
        return Receipt(size, False, found.sha256 if found else None)

    async def receive(self, user: User, where: Address, sending: Sending, *, offset: int, data: bytes) -> Receipt:
        """Append one piece; with the last one the file gets its name. If that takes longer, the client asks again with
        an empty piece at the end. Repeating is harmless: a file that is there already, to the last bit, is complete."""
        check_piece(offset, data, sending.size, "a file")
        place, upload = self._uploading(user, where, sending)
        space = self._space(user, where)
        try:
            if data or not sending.size:
                await self._write(user, where, place, upload, offset, data)
        except (Exists, WrongOffset) as error:
            may_be_there = isinstance(error, Exists) or (offset > 0 and error.received == 0)
            if not may_be_there or not await self._is_there(user, where, place, upload):
                raise
            return Receipt(sending.size, True)
        received = offset + len(data)
        if received < sending.size:
            return Receipt(received, False)
        async with self._audited("fs.write", user, place, bytes=sending.size, sha256=sending.sha256) as audit:
            is_done = await _until(lambda: space.commit(place, upload), lambda done: done)
            audit.is_recorded = is_done
        return Receipt(received, is_done)

    async def abort(self, user: User, where: Address, sending: Sending) -> None:
        place, upload = self._uploading(user, where, sending)
        async with self._audited("fs.abort", user, place):
            await self._space(user, where).abort(place, upload)

    # -- changing -----------------------------------------------------------------------------------------------

    async def make_folder(self, user: User, where: Address, *, parents: bool, private: bool = False) -> None:
        place = self._places.place(user, where, changing=True)
        async with self._audited("fs.mkdir", user, place):
            await self._space(user, where).make_folder(place, parents=parents, private=private)

    async def resize(self, user: User, where: Address, size: int) -> None:
        place = self._places.place(user, where, changing=True)
        async with self._audited("fs.resize", user, place, bytes=size):
            await self._space(user, where).resize(place, size)

    async def write_at(self, user: User, where: Address, offset: int, data: bytes) -> None:
        """Write into a file in place. A file that is written piece by piece leaves one audit event in a while."""
        place = self._places.place(user, where, changing=True)
        is_first = self._written.is_new(f"{_key(user)} {place.shown}", self._context.clock())
        async with self._audited("fs.write", user, place, offset=offset) as audit:
            audit.is_recorded = is_first
            await self._space(user, where).write_at(place, offset, data)

    async def move(self, user: User, where: Address, to: Address, run: str | None, *, overwrite: bool) -> Running:
        place, target = self._places.places(user, [(where, True), (to, True)])
        space = self._space(user, where)
        return await self._steps(
            "fs.move",
            user,
            place,
            run,
            lambda key: space.move(place, target, key, overwrite=overwrite),
            to=target.shown,
        )

    async def copy(
        self, user: User, where: Address, to: Address, run: str | None, *, recursive: bool, overwrite: bool
    ) -> Running:
        place, target = self._places.places(user, [(where, False), (to, True)])
        space = self._space(user, where)
        return await self._steps(
            "fs.copy",
            user,
            place,
            run,
            lambda key: space.copy(place, target, key, recursive=recursive, overwrite=overwrite),
            to=target.shown,
        )

    async def remove(self, user: User, where: Address, run: str | None, *, recursive: bool) -> Running:
        place = self._places.place(user, where, changing=True)
        space = self._space(user, where)
        return await self._steps(
            "fs.remove", user, place, run, lambda key: space.remove(place, key, recursive=recursive)
        )

    async def usage(self, user: User, where: Address, run: str | None) -> Running:
        place, run = self._places.place(user, where), _run(run)
        space, key = self._space(user, where), _scoped(user, run)
        return Running(run, await _until(lambda: space.usage(place, key), lambda tally: tally.done))

    async def _steps(
        self,
        what: AuditKind,
        user: User,
        place: Place,
        run: str | None,
        step: Callable[[str], Awaitable[Tally]],
        **more: Any,
    ) -> Running:
        begun, run = run is None, _run(run)
        key = _scoped(user, run)
        async with self._audited(what, user, place, **more) as audit:
            audit.is_recorded = begun
            return Running(run, await _until(lambda: step(key), lambda tally: tally.done))

    async def _write(self, user: User, where: Address, place: Place, upload: Upload, offset: int, data: bytes) -> None:
        space = self._space(user, where)
        for first in range(0, max(len(data), 1), _WRITE_BYTES):
            await space.write(place, upload, offset + first, data[first : first + _WRITE_BYTES])

    async def _is_there(self, user: User, where: Address, place: Place, upload: Upload) -> bool:
        """Whether the target has these bytes already: then a repeated upload has nothing to do."""
        space = self._space(user, where)
        try:
            facts = await space.stat(place)
            if facts.kind is not FileKind.FILE or facts.size != upload.size:
                return False
            found = await _until_known(lambda: space.digest(place, upload.key))
        except MusterError:
            return False
        return found.sha256 == upload.sha256

    def _uploading(self, user: User, where: Address, sending: Sending) -> tuple[Place, Upload]:
        check_sha256(sending.sha256, "a file is announced by its sha256")
        place = self._places.place(user, where, changing=True)
        key = _digest(_key(user), where.node or "", place.root, place.path, sending.sha256)
        return place, Upload(key, sending.size, sending.sha256, sending.overwrite, sending.executable)

    def _space(self, user: User, where: Address) -> FileSpace:
        return self._places.space(user, where.cluster)

    @asynccontextmanager
    async def _audited(self, what: AuditKind, user: User, place: Place, **data: Any) -> AsyncIterator["_Audit"]:
        """Record the operation. What the node refused is recorded as well, with the reason."""
        audit = _Audit()
        try:
            yield audit
        except MusterError as error:
            if audit.is_recorded:
                await self._record(what, user, place, **data, error=error.code)
            raise
        if audit.is_recorded:
            await self._record(what, user, place, **data)

    async def _record(self, what: AuditKind, user: User, place: Place, **data: Any) -> None:
        event = audit_event(what, user.name, self._context.clock(), path=place.shown, node=place.node, **data)
        await self._context.store.apply(Change(events=[event]))


@dataclass(slots=True)
class _Audit:
    is_recorded: bool = True


async def _until(step: Callable[[], Awaitable[Found]], is_done: Callable[[Found], bool]) -> Found:
    """Take step after step until it is done, or until the caller should get an answer."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _ANSWER_WITHIN_S
    while True:
        found = await step()
        if is_done(found) or loop.time() >= until:
            return found


async def _until_known(step: Callable[[], Awaitable[Hashed]]) -> Hashed:
    return await _until(step, lambda found: found.sha256 is not None)


def _run(run: str | None) -> str:
    if run is not None and not _RUN.fullmatch(run):
        raise Invalid("this `run` did not come from an earlier answer", hint="leave it out to begin")
    return run or new_id()


def _scoped(user: User, run: str) -> str:
    """The key of a run. No user can continue the run of another."""
    return _digest(_key(user), run)


def _key(user: User) -> str:
    """A later user of the same name continues nothing."""
    return user.id or user.name


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]
