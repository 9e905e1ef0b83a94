"""Files on nodes with agents. The agents keep every path inside its root. This side translates requests and errors, and
repeats over the next connection what may be asked twice."""

import base64
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from muster.agent import errors as codes
from muster.agent.files import file_errors as file_codes
from muster.agent.files.operations import MAX_LISTED
from muster.agent.system.frames import Message
from muster.backends.agents.connection import AgentNode
from muster.backends.agents.flow_control import patiently
from muster.backends.agents.piece_transfer import send
from muster.domain.errors import BackendError, Conflict, Forbidden, Invalid, MusterError, NotFound
from muster.ports.files import (
    MAX_PIECE_BYTES,
    Changed,
    DiskFull,
    Entry,
    Exists,
    FileFacts,
    FileKind,
    Hashed,
    Listing,
    Outside,
    Piece,
    Place,
    Tally,
    Upload,
    WrongKind,
    WrongOffset,
)

Found = TypeVar("Found")
_ERRORS: Mapping[str, type[MusterError]] = {
    file_codes.NOT_FOUND: NotFound,
    file_codes.OUTSIDE: Outside,
    file_codes.DENIED: Forbidden,
    file_codes.EXISTS: Exists,
    file_codes.IS_A_FOLDER: WrongKind,
    file_codes.NOT_A_FILE: WrongKind,
    file_codes.NOT_A_FOLDER: WrongKind,
    file_codes.NOT_EMPTY: WrongKind,
    file_codes.CHANGED: Changed,
    file_codes.BUSY: Conflict,
    file_codes.DIGEST: Invalid,
    file_codes.TOO_DEEP: Invalid,
    codes.BAD_REQUEST: Invalid,
    codes.DISK_FULL: DiskFull,
}
_HINTS = {
    file_codes.EXISTS: "overwrite it with --force, or choose another name",
    file_codes.IS_A_FOLDER: "whole folders need -r (recursive)",
    file_codes.NOT_EMPTY: "whole folders need -r (recursive)",
    file_codes.CHANGED: "somebody writes to it; try again when they have finished",
    file_codes.DIGEST: "send it again",
    file_codes.BUSY: "wait a moment and try again",
    codes.DISK_FULL: "make room there (see `muster fs du`), then begin again; nothing is left of the file",
}


class AgentFiles:
    """Implements `ports.files.FileSpace`. `account_order` says under which account an agent acts for a user."""

    def __init__(
        self,
        agent: Callable[[str], AgentNode],
        account_order: Callable[[AgentNode, str], Awaitable[Mapping[str, Any] | None]],
    ) -> None:
        self._agent = agent
        self._account_order = account_order

    async def list(self, place: Place, *, limit: int, cursor: str | None) -> Listing:
        answer = await self._ask_again("fs_list", place, limit=min(limit, MAX_LISTED), after=_name(cursor))
        entries = [Entry(raw["name"], _facts(raw), raw["target"]) for raw in answer["entries"]]
        return Listing(entries, _cursor(answer["next"]))

    async def stat(self, place: Place) -> FileFacts:
        return _facts(await self._ask_again("fs_stat", place))

    async def read(self, place: Place, offset: int, limit: int, *, version: str | None = None) -> Piece:
        """Read as much as the connection carries in a moment. The next piece may be on its way as well."""
        pace = self._agent(place.node).inward

        def ask() -> Awaitable[Message]:
            size = min(limit, MAX_PIECE_BYTES, pace.window // 2)
            return pace.timed(size, lambda: self._raw("fs_read", place, offset=offset, limit=size, version=version))

        answer = await self._answered(place, patiently(ask))
        return Piece(answer["data"], int(answer["size"]), answer["version"])

    async def received(self, place: Place, upload: Upload) -> int | None:
        size = (await self._ask_again("fs_received", place, upload=upload.key))["size"]
        return None if size is None else int(size)

    async def write(self, place: Place, upload: Upload, offset: int, data: bytes) -> int:
        """A piece that the agent does not write is at a wrong offset, except if it was written before a connection
        broke."""
        end, received, tries = offset + len(data), offset, 0

        def moved(size: int, is_written: bool) -> None:
            nonlocal received
            was_written = tries > 1 and received < size <= end
            if not is_written and not was_written:
                raise WrongOffset(size)
            received = size

        async def read(start: int, size: int) -> bytes:
            return data[start - offset : start - offset + size]

        async def step() -> None:
            nonlocal tries
            tries += 1
            # The account is found once for all pieces: they must be sent in their order, so nothing is waited for.
            ask = await self._acting(place)
            write = partial(ask, "fs_write", upload=upload.key, overwrite=upload.overwrite)
            await send(write, read, received, end, self._agent(place.node).outward, moved)

        await self._answered(place, patiently(step, lambda: received))
        return received

    async def commit(self, place: Place, upload: Upload) -> bool:
        answer = await self._ask_again(
            "fs_commit",
            place,
            upload=upload.key,
            run=upload.key,
            size=upload.size,
            sha256=upload.sha256,
            overwrite=upload.overwrite,
            executable=upload.executable,
        )
        return bool(answer["done"])

    async def abort(self, place: Place, upload: Upload) -> None:
        await self._ask_again("fs_abort", place, upload=upload.key)

    async def digest(
        self, place: Place, run: str, *, length: int | None = None, upload: Upload | None = None
    ) -> Hashed:
        key = upload.key if upload else None
        answer = await self._ask_again("fs_digest", place, run=run, length=length, upload=key)
        return Hashed(answer.get("sha256"), int(answer["hashed"]))

    async def resize(self, place: Place, size: int) -> None:
        await self._ask_again("fs_resize", place, size=size)

    async def write_at(self, place: Place, offset: int, data: bytes) -> None:
        """Write as much at once as the connection carries in a moment."""
        pace, end = self._agent(place.node).outward, offset + len(data)
        start = offset
        while start < end:
            size = max(1, min(end - start, MAX_PIECE_BYTES, pace.window // 2))
            piece = data[start - offset : start - offset + size]
            await self._ask_again("fs_write_at", place, offset=start, data=piece)
            start += size

    async def make_folder(self, place: Place, *, parents: bool, private: bool = False) -> None:
        try:
            await self._ask("fs_mkdir", place, parents=parents, private=private)
        except Exists as error:
            raise Exists(error.message, hint="with -p an existing folder is not an error") from None

    async def move(self, place: Place, to: Place, run: str, *, overwrite: bool) -> Tally:
        try:
            await self._ask("fs_move", place, **_to(to), overwrite=overwrite)
            return Tally(True)
        except _CrossDevice:
            copied = await self.copy(place, to, run, recursive=True, overwrite=overwrite)
        if copied.done and copied.skipped:
            raise WrongKind(
                f"{place.shown} is copied to {to.shown}, except for {copied.skipped} entries that cannot be copied"
                " (devices, pipes, files that may not be read); so nothing is removed",
                hint="remove what is left by hand",
            )
        if copied.done:
            while not (await self.remove(place, run, recursive=True)).done:
                pass
        return copied

    async def copy(self, place: Place, to: Place, run: str, *, recursive: bool, overwrite: bool) -> Tally:
        return _tally(await self._ask("fs_copy", place, **_to(to), run=run, recursive=recursive, overwrite=overwrite))

    async def remove(self, place: Place, run: str, *, recursive: bool) -> Tally:
        return _tally(await self._ask("fs_remove", place, run=run, recursive=recursive))

    async def usage(self, place: Place, run: str) -> Tally:
        return _tally(await self._ask_again("fs_usage", place, run=run))

    async def _ask(self, op: str, place: Place, **arguments: Any) -> Message:
        return await self._answered(place, self._raw(op, place, **arguments))

    async def _ask_again(self, op: str, place: Place, **arguments: Any) -> Message:
        """Ask for an operation that may be done twice."""
        return await self._answered(place, patiently(lambda: self._raw(op, place, **arguments)))

    async def _raw(self, op: str, place: Place, **arguments: Any) -> Message:
        ask = await self._acting(place)
        return await ask(op, **arguments)

    async def _acting(self, place: Place) -> Callable[..., Awaitable[Message]]:
        """Returns what asks the agent for operations on this place, with the rights of the user."""
        agent, isolation = self._agent(place.node), None
        if place.user is not None:
            if not agent.hello:
                await agent.ask("ping")  # which waits for the connection, and so for what the agent reports
            isolation = await self._account_order(agent, place.user)
        return partial(agent.ask, root=place.root, path=place.path, user=place.user, isolation=isolation)

    async def _answered(self, place: Place, asking: Awaitable[Found]) -> Found:
        try:
            return await asking
        except BackendError as error:
            raise _translated(place, error) from None


class _CrossDevice(Conflict):
    code = "cross-device"


def _translated(place: Place, error: BackendError) -> MusterError:
    if error.reason == file_codes.CROSS_DEVICE:
        return _CrossDevice(f"{place.shown}: {error.message}")
    kind = _ERRORS.get(error.reason)
    return error if kind is None else kind(f"{place.shown}: {error.message}", hint=_HINTS.get(error.reason, ""))


def _to(place: Place) -> dict[str, str]:
    return {"to_root": place.root, "to_path": place.path}


def _facts(raw: Mapping[str, Any]) -> FileFacts:
    return FileFacts(
        *(FileKind(raw["kind"]), int(raw["size"]), float(raw["mtime"]), int(raw["mode"]), raw["version"]),
        is_private=raw.get("private") is True,
    )


def _tally(raw: Mapping[str, Any]) -> Tally:
    return Tally(bool(raw["done"]), raw["bytes"], raw["files"], raw["folders"], raw["skipped"], raw["unfinished"])


def _cursor(name: str | None) -> str | None:
    """Names are bytes, and need not be text, so a cursor is encoded."""
    return None if name is None else base64.urlsafe_b64encode(os.fsencode(name)).decode("ascii")


def _name(cursor: str | None) -> str:
    try:
        return os.fsdecode(base64.urlsafe_b64decode(cursor or ""))
    except ValueError:
        raise Invalid("this cursor did not come from an earlier answer", hint="begin without one") from None
