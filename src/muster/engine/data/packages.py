"""Code packages on disk. They are uploaded in pieces, and kept under the digest of their bytes, once for all owners."""

import asyncio
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from muster.domain.accounts import Package
from muster.domain.errors import Invalid, NotFound, StorageFull, TooLarge
from muster.engine.context import Context
from muster.engine.data.upload_checks import check_piece, check_sha256
from muster.engine.state.event_builders import audit_event
from muster.lib.partial_files import PartialFile, WrongDigest, size_of, sync_folder
from muster.ports.files import WrongOffset
from muster.ports.store import Change

_DIGEST_LENGTH = 64
_RESERVE_BYTES = 64 << 20
"""What uploads leave free on the disk for the database and the logs, or a sixteenth of a small disk."""
_NAME_SAFE = re.compile(r"[^A-Za-z0-9._@-]")


@dataclass(frozen=True, slots=True)
class Upload:
    digest: str
    size: int
    received: int
    complete: bool


class PackageStore:
    """An upload belongs to its user until it is complete and its digest is right; only then is it a package."""

    def __init__(self, context: Context, limit_bytes: int) -> None:
        self._context = context
        self._limit_bytes = limit_bytes
        self._turns: dict[Path, asyncio.Lock] = {}

    async def status(self, digest: str, owner: str) -> Upload:
        _check(digest)
        package = await self._context.store.package(digest, owner)
        if package is not None:
            return Upload(digest, package.size_bytes, package.size_bytes, True)
        partial = self._partial(digest, owner)
        received = size_of(partial)
        if received is None:
            raise NotFound(f"no package {digest} of {owner}")
        return Upload(digest, 0, received, False)

    async def receive(self, digest: str, owner: str, *, offset: int, size: int, data: bytes) -> Upload:
        """Append one piece. Sending the pieces of a complete package again is harmless."""
        _check(digest)
        if size > self._limit_bytes:
            raise TooLarge(
                f"a package may have at most {self._limit_bytes} bytes", hint="leave data out: .musterignore"
            )
        check_piece(offset, data, size, "a package")
        partial = self._partial(digest, owner)
        async with self._turns.setdefault(partial, asyncio.Lock()):
            package = await self._context.store.package(digest, owner)
            if package is not None:
                return Upload(digest, package.size_bytes, package.size_bytes, True)
            received = size_of(partial) or 0
            if offset != received:
                raise WrongOffset(received)
            await self._require_room(owner, partial, size)
            await asyncio.to_thread(_require_disk, partial, size - received)
            is_whole = received + len(data) == size
            target = self._path(digest) if is_whole else None
            try:
                await asyncio.to_thread(_append, partial, data, target, digest)
            except OSError:
                partial.unlink(missing_ok=True)  # what is left of it could fill the disk for everybody
                raise
            except WrongDigest as error:
                raise Invalid(
                    f"the package's digest is {error.found}, not {digest}", hint="upload it again from the start"
                ) from None
            if not is_whole:
                return Upload(digest, size, received + len(data), False)
            await self._record(digest, owner, size)
            self._turns.pop(partial, None)
            return Upload(digest, size, size, True)

    async def bytes_of(self, owner: str, beside: Path | None = None) -> int:
        """The bytes of the owner's packages and of the unfinished uploads, without the one `beside` which it is
        asked."""
        others = (path for path in self._uploads.glob(f"{_safe(owner)}.*") if path != beside)
        return await self._context.store.package_bytes(owner) + sum(size_of(path) or 0 for path in others)

    async def _require_room(self, owner: str, partial: Path, size: int) -> None:
        used, most = await self.bytes_of(owner, partial), self._context.limits.package_bytes_per_user
        if used + size > most:
            raise TooLarge(
                f"{owner} has packages of {used} bytes, {most} are allowed, and this one has {size}",
                hint="`muster delete` old jobs; packages that no job needs are removed",
            )

    async def path(self, digest: str, owner: str | None) -> Path:
        _check(digest)
        if await self._context.store.package(digest, owner) is None:
            raise NotFound(f"no package {digest}")
        return self._path(digest)

    async def _record(self, digest: str, owner: str, size: int) -> None:
        now = self._context.clock()
        package = Package(digest, owner, size, now)
        event = audit_event("package.upload", owner, now, digest=digest, bytes=size)
        await self._context.store.apply(Change(new_package=package, events=[event]))

    def _path(self, digest: str) -> Path:
        return self._context.packages / f"{digest}.tar.gz"

    def _partial(self, digest: str, owner: str) -> Path:
        return self._uploads / f"{_safe(owner)}.{digest}"

    @property
    def _uploads(self) -> Path:
        return self._context.packages / "uploads"


def drop_unfinished_uploads(packages: Path, owner: str) -> None:
    """What somebody of this name has begun to upload is not continued by a later user who has the name."""
    for path in (packages / "uploads").glob(f"{_safe(owner)}.{'?' * _DIGEST_LENGTH}"):
        path.unlink(missing_ok=True)


def _safe(owner: str) -> str:
    return _NAME_SAFE.sub("_", owner)


def _check(digest: str) -> None:
    check_sha256(digest, "a package is named by the sha256 of its archive")


def _require_disk(partial: Path, missing_bytes: int) -> None:
    """An upload that the disk has no room for would take the last space, from which everybody else lives."""
    partial.parent.mkdir(parents=True, exist_ok=True)
    disk = shutil.disk_usage(partial.parent)
    if missing_bytes + min(_RESERVE_BYTES, disk.total // 16) > disk.free:
        partial.unlink(missing_ok=True)
        raise StorageFull("the server")


def _append(partial: Path, data: bytes, target: Path | None, digest: str) -> None:
    with PartialFile(partial) as file:
        file.append(data)
        if target is not None:
            file.sync()
            file.commit(target, digest)
            sync_folder(target.parent)
