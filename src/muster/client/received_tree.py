"""Unpacks an archive that a task has sent. The task is not trusted: nothing is written outside of the folder, no link
is followed, and neither devices nor more rights than usual are made.

Everything is first put into a new folder beside the place where it is to be, and moved there when all of it has come.
"""

import os
import secrets
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from muster.client.errors import BAD_ANSWER, BAD_INPUT, MusterError

_COPY_BYTES = 1 << 20
_MOST_HEADER_BYTES = 1 << 20
_LONG_HEADERS = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_CAN_CONFINE = os.open in os.supports_dir_fd
"""Whether this system can open a name in a folder without following links, as Windows cannot."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if _CAN_CONFINE else os.O_RDONLY
_CONTENT = "content"

Moved = Callable[[int], None]
Warn = Callable[[str], None]


class _Member(tarfile.TarInfo):
    """An entry that needs no more memory than a name may have."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if self.type == tarfile.GNUTYPE_SPARSE or (self.type in _LONG_HEADERS and self.size > _MOST_HEADER_BYTES):
            raise tarfile.ReadError("it has an entry of a kind that is not taken")
        return super()._proc_member(archive)  # type: ignore[misc]

    def _proc_gnusparse_00(self, *_: Any) -> None:
        raise tarfile.ReadError("it has a sparse file")

    _proc_gnusparse_01 = _proc_gnusparse_10 = _proc_gnusparse_00


class ReceivedTree:
    """What has come, in a folder that is nobody else's."""

    def __init__(self, folder: Path, moved: Moved, warn: Warn) -> None:
        self._root = folder
        self._moved = moved
        self._warn = warn

    @property
    def content(self) -> Path:
        """What has come: a file or a folder."""
        return self._root / _CONTENT

    def unpack(self, stream: Any) -> None:
        """The first entry is what was asked for; all others are in it."""
        if not _CAN_CONFINE:
            raise MusterError(
                "this system cannot keep the files that a task sends in one folder",
                code=BAD_INPUT,
                hint="copy them on Linux, macOS or WSL, or let the job collect them as `outputs`",
            )
        try:
            with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive:
                for member in archive:
                    archive.members.clear()  # type: ignore[attr-defined]
                    self._take(archive, member)
        except tarfile.TarError as error:
            raise MusterError(f"the task sent no proper archive: {error}", code=BAD_ANSWER) from error
        if not os.path.lexists(self.content):
            raise MusterError("the task sent nothing", code=BAD_ANSWER)

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        parts = _parts(member.name)
        if not self.content.exists() and not member.isdir():
            parts = []  # one file, whatever it is called
        *around, name = [_CONTENT, *parts]
        with self._opened(around) as folder:
            if member.isdir():
                _make_folder(folder, name)
            elif member.isreg():
                source = archive.extractfile(member)
                assert source is not None
                self._write(folder, name, source, member)
            elif member.issym():
                self._link(folder, name, parts, member)
            elif member.islnk():
                self._copy(folder, name, member)
            else:
                self._warn(f"{member.name} is neither a file nor a folder, and was left out")

    def _write(self, folder: int, name: str, source: IO[bytes], member: tarfile.TarInfo) -> None:
        mode = (member.mode & 0o755) | 0o600
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, mode, dir_fd=folder), "wb", buffering=0) as file:
            while piece := source.read(_COPY_BYTES):
                _write_all(file.fileno(), piece)
                self._moved(len(piece))
            os.utime(file.fileno(), (member.mtime, member.mtime))

    def _link(self, folder: int, name: str, parts: list[str], member: tarfile.TarInfo) -> None:
        if not parts or _leaves(parts[:-1], member.linkname):
            self._warn(f"{member.name} is a link that leads out of what is copied, and was left out")
            return
        os.symlink(member.linkname, name, dir_fd=folder)

    def _copy(self, folder: int, name: str, member: tarfile.TarInfo) -> None:
        """A second name of a file becomes a second file."""
        *around, first = [_CONTENT, *_parts(member.linkname)]
        with self._opened(around) as other:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(first, flags, dir_fd=other), "rb") as source:
                self._write(folder, name, source, member)

    @contextmanager
    def _opened(self, parts: list[str]) -> Iterator[int]:
        """The folder, on the way to which there is no link."""
        fd = os.open(self._root, _FOLDER)
        try:
            for part in parts:
                inner = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = inner
            yield fd
        finally:
            os.close(fd)


@contextmanager
def received_beside(target: Path, moved: Moved, warn: Warn) -> Iterator[ReceivedTree]:
    """Receives what is to be at the target, or in it. Nothing of it is left if this is interrupted."""
    with beside(target) as folder:
        yield ReceivedTree(folder, moved, warn)


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A new folder beside the target, from which things are moved there. It is gone afterwards."""
    folder = target.parent / f".muster-cp-{secrets.token_hex(8)}"
    folder.mkdir(0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put(content: Path, target: Path) -> None:
    """Moves it to the target. Into a folder that is there its files are moved one by one; each is complete."""
    if not stat.S_ISDIR(os.lstat(content).st_mode):
        if target.is_dir() and not target.is_symlink():
            raise IsADirectoryError(21, "Is a directory", str(target))
        content.replace(target)
        return
    if not os.path.lexists(target):
        content.rename(target)
        return
    if target.is_symlink() or not target.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(target))
    for inner in sorted(content.iterdir()):
        put(inner, target / inner.name)


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise MusterError(f"the task sent a file {name!r}, which does not stay in its folder", code=BAD_ANSWER)
    return parts


def _leaves(folder: list[str], link: str) -> bool:
    """Whether a link in this folder leads out of what is copied."""
    if link.startswith("/") or not link:
        return True
    depth = len(folder)
    for part in link.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False


def _make_folder(parent: int, name: str) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        os.close(os.open(name, _FOLDER, dir_fd=parent))  # it is one, and no link


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
