"""Code packages on disk: uploaded in pieces, kept under the digest of their bytes, once for all owners."""

import asyncio
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from muster.domain.accounts import Package
from muster.domain.errors import Conflict, Invalid, NotFound, TooLarge
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.ports.store import Change

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME_SAFE = re.compile(r"[^A-Za-z0-9._@-]")


@dataclass(frozen=True, slots=True)
class Upload:
    digest: str
    size: int
    received: int
    complete: bool


class PackageShelf:
    """An upload belongs to its user until it is whole and its digest is right; only then is it a package."""

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
        if not partial.exists():
            raise NotFound(f"no package {digest} of {owner}")
        return Upload(digest, 0, partial.stat().st_size, False)

    async def receive(self, digest: str, owner: str, *, offset: int, size: int, data: bytes) -> Upload:
        """Append one piece. A piece that was already received is answered with what is there: repeat is harmless."""
        _check(digest)
        if size > self._limit_bytes:
            raise TooLarge(
                f"a package may have at most {self._limit_bytes} bytes", hint="leave data out: .musterignore"
            )
        if offset + len(data) > size:
            raise Invalid(f"this piece ends at {offset + len(data)}, behind the end of a package of {size} bytes")
        partial = self._partial(digest, owner)
        async with self._turns.setdefault(partial, asyncio.Lock()):
            package = await self._context.store.package(digest, owner)
            if package is not None:
                return Upload(digest, package.size_bytes, package.size_bytes, True)
            partial.parent.mkdir(parents=True, exist_ok=True)
            received = partial.stat().st_size if partial.exists() else 0
            if offset != received:
                raise _WrongOffset(received)
            await asyncio.to_thread(_append, partial, data)
            received += len(data)
            if received < size:
                return Upload(digest, size, received, False)
            await self._complete(partial, digest, owner, size)
            self._turns.pop(partial, None)
            return Upload(digest, size, size, True)

    async def path(self, digest: str, owner: str | None) -> Path:
        _check(digest)
        if await self._context.store.package(digest, owner) is None:
            raise NotFound(f"no package {digest}")
        return self._context.packages / f"{digest}.tar.gz"

    async def _complete(self, partial: Path, digest: str, owner: str, size: int) -> None:
        found = await asyncio.to_thread(_digest_of, partial)
        if found != digest:
            partial.unlink()
            raise Invalid(f"the package's digest is {found}, not {digest}", hint="upload it again from the start")
        partial.replace(self._context.packages / f"{digest}.tar.gz")
        now = self._context.clock()
        package = Package(digest, owner, size, now)
        event = audit_event("package.upload", owner, now, digest=digest, bytes=size)
        await self._context.store.apply(Change(new_package=package, events=[event]))

    def _partial(self, digest: str, owner: str) -> Path:
        return self._context.packages / "uploads" / f"{_NAME_SAFE.sub('_', owner)}.{digest}"


class _WrongOffset(Conflict):
    code = "wrong-offset"

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes have been received", hint=f"go on from offset {received}")
        self.received = received


def _check(digest: str) -> None:
    if not _DIGEST.fullmatch(digest):
        raise Invalid("a package is named by the sha256 of its archive: 64 hexadecimal digits")


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
