"""Unpacks a task's package, a tar.gz from a user, trusting nothing in it.

Python 3.8 has no safe extraction, so every member is placed by hand: real folders first, links last, and nothing is
ever written through a link. It unpacks beside the target and renames, so a half-unpacked package is never used.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from typing import IO, Any, Callable, Dict, List, Optional, Tuple

from muster.agent.system.removal import remove_tree

_PIECE_BYTES = 1024 * 1024
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_HEADER_BYTES = 64 * 1024
_MOST_HEADERS = 8
_LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class PackageError(Exception):
    """The package is not what it should be; the message says which member and why."""


@dataclass(frozen=True)
class PackageLimits:
    entries: int = 200_000
    replaced: int = 1000
    """How many members may have the name of an earlier one."""
    total_bytes: int = 20 * 1024**3
    path_bytes: int = 1024
    name_bytes: int = 255


def unpack(
    archive: str,
    digest: str,
    target: str,
    limits: PackageLimits = PackageLimits(),  # noqa: B008
    finish: Optional[Callable[[str], None]] = None,
) -> None:
    """Make `target` the package's content. If it exists it is complete already, from an earlier try or by another
    task. `finish` gets the content before anybody can see it."""
    if os.path.isdir(target):
        return
    partial = tempfile.mkdtemp(prefix=".muster-unpack-", dir=os.path.dirname(target))
    try:
        _unpack_verified(archive, digest, partial, limits)
        if finish is not None:
            finish(partial)
        _rename_unless_there(partial, target)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise PackageError("the package cannot be read: {}".format(error)) from error
    finally:
        remove_tree(partial)


def _rename_unless_there(partial: str, target: str) -> None:
    try:
        os.rename(partial, target)
    except OSError:
        if not os.path.isdir(target):
            raise


def _unpack_verified(archive: str, digest: str, folder: str, limits: PackageLimits) -> None:
    try:
        source = open(archive, "rb")
    except OSError as error:
        raise PackageError("the package {} cannot be opened: {}".format(archive, error.strerror)) from error
    with source:
        hashing = _Hashing(source)
        try:
            with gzip.GzipFile(fileobj=hashing, mode="rb") as plain:  # type: ignore[call-overload]
                _Unpacking(folder, limits).run(plain)
        finally:
            hashing.drain()
            found = hashing.digest()
    if found != digest:
        raise PackageError("the package has digest {}, not {}".format(found, digest))


class _Hashing:
    """A file that learns its own digest while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def drain(self) -> None:
        while self.read(_PIECE_BYTES):
            pass

    def digest(self) -> str:
        return self._hash.hexdigest()


class _Member(tarfile.TarInfo):
    """Refuses members that cost memory or stack before they can be looked at: `tarfile` reads headers that extend
    others whole, and one inside the other."""

    def _proc_member(self, tar: Any) -> tarfile.TarInfo:
        extending = getattr(tar, "extending", 0) + 1 if self.type in _LONG_HEADERS else 0
        tar.extending = extending
        if extending > _MOST_HEADERS or (extending and self.size > _MOST_HEADER_BYTES):
            raise PackageError("the package has a header of {} bytes, or too many of them".format(self.size))
        if self.type == tarfile.GNUTYPE_SPARSE:
            self._refuse_sparse()
        return super()._proc_member(tar)  # type: ignore[misc,no-any-return]

    def _refuse_sparse(self, *args: Any) -> None:
        raise PackageError("{!r} is stored as a sparse file, which a package may not contain".format(self.name))

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


class _Unpacking:
    def __init__(self, folder: str, limits: PackageLimits) -> None:
        self._folder = os.path.realpath(folder)
        self._limits = limits
        self._entries = 0
        self._bytes = 0
        self._symlinks: Dict[str, str] = {}
        self._folder_modes: List[Tuple[str, int]] = []
        self._folders = {self._folder}
        """Those that exist. None is removed again, and nobody else can reach them."""
        self._replaced = 0

    def run(self, plain: Any) -> None:
        with tarfile.open(fileobj=plain, mode="r|", tarinfo=_Member) as tar:
            member = tar.next()
            while member is not None:
                self._count(member)
                self._place(tar, member)
                tar.members = []  # type: ignore[attr-defined]  # it would keep all of them
                member = tar.next()
        self._place_symlinks()
        for path, mode in reversed(self._folder_modes):
            os.chmod(path, mode)

    def _count(self, member: tarfile.TarInfo) -> None:
        self._entries += 1
        if self._entries > self._limits.entries:
            raise PackageError("the package has more than {} entries".format(self._limits.entries))
        self._bytes += max(member.size, 0) if member.isreg() else 0
        if self._bytes > self._limits.total_bytes:
            raise PackageError("the package unpacks to more than {} bytes".format(self._limits.total_bytes))

    def _place(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        path = self._inside(member.name, member.name)
        if member.isdir():
            self._make_folders(path, member.name)
            if path != self._folder:
                self._folder_modes.append((path, (member.mode & 0o777) | 0o700))
            return
        if path == self._folder:
            raise PackageError("{!r} would replace the working folder".format(member.name))
        self._make_folders(os.path.dirname(path), member.name)
        if self._symlinks.pop(path, None) is not None:
            self._count_replaced(member.name)
        if member.isreg():
            self._place_file(tar, member, path)
        elif member.issym():
            self._remember_symlink(member, path)
        elif member.islnk():
            self._place_hard_link(member, path)
        else:
            raise PackageError("{!r} is a device or a pipe, which a package may not contain".format(member.name))

    def _inside(self, name: str, shown: str) -> str:
        """Returns the path of this name inside our folder, and refuses a name that leads out of it."""
        if name.startswith("/"):
            raise PackageError("{!r} is an absolute path".format(shown))
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise PackageError("{!r} leads out of the package".format(shown))
        encoded = [os.fsencode(part) for part in parts]
        if len(b"/".join(encoded)) > self._limits.path_bytes or any(
            len(part) > self._limits.name_bytes for part in encoded
        ):
            raise PackageError("the path {!r}... is too long".format(shown[:80]))
        if "\0" in name:
            raise PackageError("{!r} contains a zero byte".format(shown))
        return os.path.join(self._folder, *parts)

    def _make_folders(self, path: str, shown: str) -> None:
        if path in self._symlinks:
            raise PackageError("{!r} goes through a link".format(shown))
        if path in self._folders:
            return
        self._make_folders(os.path.dirname(path), shown)
        try:
            os.mkdir(path, 0o755)
        except FileExistsError as error:
            raise PackageError("{!r} lies below something that is not a folder".format(shown)) from error
        self._folders.add(path)

    def _place_file(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        if member.mode & 0o6000:
            raise PackageError("{!r} would run with another user's rights (setuid)".format(member.name))
        content = tar.extractfile(member)
        if content is None:
            raise PackageError("{!r} has no content".format(member.name))
        mode = (member.mode & 0o777) | 0o600
        try:
            fd = os.open(path, _NEW_FILE, mode)
        except FileExistsError:
            self._make_way(path, member.name)
            fd = os.open(path, _NEW_FILE, mode)
        with os.fdopen(fd, "wb") as file:
            shutil.copyfileobj(content, file, _PIECE_BYTES)

    def _place_hard_link(self, member: tarfile.TarInfo, path: str) -> None:
        source = self._inside(member.linkname, member.name)
        if os.path.islink(source) or not os.path.isfile(source):
            raise PackageError("{!r} links to {!r}, not a file before it".format(member.name, member.linkname))
        if source != path:
            self._make_way(path, member.name)
            os.link(source, path, follow_symlinks=False)

    def _remember_symlink(self, member: tarfile.TarInfo, path: str) -> None:
        if member.linkname.startswith("/") or not member.linkname or "\0" in member.linkname:
            raise PackageError("{!r} links to {!r}, outside the package".format(member.name, member.linkname))
        self._make_way(path, member.name)
        self._symlinks[path] = member.linkname

    def _make_way(self, path: str, shown: str) -> None:
        """A later member replaces an earlier one of the same name, as tar does; but not a whole folder."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
        except (IsADirectoryError, PermissionError) as error:
            raise PackageError("{!r} would replace a folder".format(shown)) from error
        self._count_replaced(shown)

    def _count_replaced(self, shown: str) -> None:
        self._replaced += 1
        if self._replaced > self._limits.replaced:
            message = "{!r} replaces an earlier entry of the same name, as {} others do"
            raise PackageError(message.format(shown, self._limits.replaced))

    def _place_symlinks(self) -> None:
        """Last, so that nothing was written through one; and checked when all stand, since they can lean on each
        other: `a -> .` is harmless and so is `b -> c/..`, unless c is a link as well."""
        for path, target in self._symlinks.items():
            os.symlink(target, path)
        for path, target in self._symlinks.items():
            end = os.path.realpath(path)
            if end != self._folder and not end.startswith(self._folder + os.sep):
                shown = os.path.relpath(path, self._folder)
                raise PackageError("{!r} links to {!r}, outside the package".format(shown, target))
