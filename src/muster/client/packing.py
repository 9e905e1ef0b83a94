"""Packs a folder into one archive whose digest depends on nothing but its contents, so that it is uploaded once.

Names are sorted, owners and times zeroed, modes reduced to "executable or not". Links are kept when they stay inside
the folder and refused when they lead out of it.
"""

import gzip
import hashlib
import os
import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Self

from muster.client.errors import BAD_INPUT, MusterError
from muster.client.ignore_files import ALWAYS_LEFT_OUT, NoRules, Rules
from muster.lib.quantities import about_bytes

SIZE_LIMIT_BYTES = 1 << 30
INPUT_LIMIT_BYTES = 4 << 30
_BIGGEST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """`relative` uses forward slashes; `link` is set for a link and is where it leads, relative to its own folder."""

    relative: str
    path: Path
    size: int
    mode: int
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Package:
    """A packed folder in a temporary file; use it as a context, so that the file goes away."""

    file: IO[bytes]
    digest: str
    size: int
    entries: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def pack(
    folder: str | Path,
    *,
    limit_bytes: int = SIZE_LIMIT_BYTES,
    announce: Callable[[Path, int], None] | None = None,
) -> Package:
    """Raises MusterError for a folder that is missing, too large or has links leading out of it."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise MusterError(f"{folder} is not a folder", code=BAD_INPUT, hint="`package` names the folder to send")
    left_out: list[str] = []
    entries = list(list_entries(root, left_out))
    if announce is not None:
        announce(root, len(left_out))
    _check_size(root, entries, limit_bytes, "name what the job does not need in .musterignore")
    return _packed(entries, Rules.way_out, compression=6)


def pack_input(path: Path, *, limit_bytes: int = INPUT_LIMIT_BYTES) -> Package:
    """A file or a folder with all that is in it, whatever git ignores. Data is packed fast rather than small."""
    root = path.resolve()
    if root.is_dir():
        entries = list(_walk(root, root, "", NoRules(), []))
    else:
        entries = [_file(path, root)]
    _check_size(root, entries, limit_bytes, "name a smaller part of it, or use a shared folder of the cluster")
    return _packed(entries, NoRules.way_out, compression=1)


def pack_parts(parts: Mapping[str, Path], *, limit_bytes: int = SIZE_LIMIT_BYTES) -> Package:
    """Files and folders from several places as one package, each under its path there, with all that is in them."""
    entries: dict[str, Entry] = {}
    for target, path in sorted(parts.items()):
        root = path.resolve()
        for folder in reversed(PurePosixPath(target).parents[:-1]):
            entries.setdefault(str(folder), Entry(str(folder), root, 0, stat.S_IFDIR))
        if root.is_dir():
            entries[target] = Entry(target, root, 0, stat.S_IFDIR)
            entries.update((entry.relative, entry) for entry in _walk(root, root, target, NoRules(), []))
        else:
            entries[target] = replace(_file(path, root), relative=target)
    found = list(entries.values())
    _check_size(Path(), found, limit_bytes, "send less, or use a shared folder of the cluster")
    return _packed(found, NoRules.way_out, compression=6)


def _file(path: Path, root: Path) -> Entry:
    try:
        status = root.stat()
    except OSError as error:
        raise _unreadable(path, error, NoRules.way_out) from error
    if not stat.S_ISREG(status.st_mode):
        raise MusterError(f"the input {path} is neither a file nor a folder", code=BAD_INPUT)
    return Entry(path.name, root, status.st_size, status.st_mode)


def _packed(entries: list[Entry], way_out: str, *, compression: int) -> Package:
    archive = tempfile.TemporaryFile(prefix="muster-package-")  # noqa: SIM115 - the Package closes it
    try:
        _write(entries, archive, compression, way_out)
        size = archive.tell()
        archive.seek(0)
        digest = hashlib.file_digest(archive, "sha256").hexdigest()
        archive.seek(0)
    except BaseException:
        archive.close()
        raise
    return Package(archive, digest, size, len(entries))


def list_entries(folder: Path, left_out: list[str] | None = None) -> Iterator[Entry]:
    """Everything that will be packed, in the order in which it will be. What is not, because a file of rules says so,
    is added to `left_out`: a folder by its own name alone."""
    root = folder.resolve()
    yield from _walk(root, root, "", Rules(), left_out if left_out is not None else [])


def _walk(root: Path, folder: Path, relative: str, above: Rules, left_out: list[str]) -> Iterator[Entry]:
    rules = above.inside(folder, relative)
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise _unreadable(folder, error, rules.way_out) from error
    for name in names:
        path = folder / name
        below = f"{relative}/{name}" if relative else name
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue  # gone since it was listed
        is_folder = stat.S_ISDIR(status.st_mode)
        if rules.leave_out(below, is_folder=is_folder):
            if name not in ALWAYS_LEFT_OUT:
                left_out.append(below)
            continue
        if is_folder:
            yield Entry(below, path, 0, status.st_mode)
            yield from _walk(root, path, below, rules, left_out)
        elif stat.S_ISLNK(status.st_mode):
            yield Entry(below, path, 0, status.st_mode, _target_inside(root, path, below, rules.way_out))
        elif stat.S_ISREG(status.st_mode):
            yield Entry(below, path, status.st_size, status.st_mode)
        # sockets, pipes and devices mean nothing on another machine


def _target_inside(root: Path, link: Path, relative: str, way_out: str) -> str:
    target = Path(os.path.realpath(link))
    if target != root and root not in target.parents:
        raise MusterError(
            f"{relative} is a link that leads out of the folder, to {target}",
            code=BAD_INPUT,
            hint=f"copy what it points to, or {way_out}",
        )
    return os.path.relpath(target, link.parent)


def _check_size(root: Path, entries: list[Entry], limit_bytes: int, advice: str) -> None:
    total = sum(entry.size for entry in entries)
    if total <= limit_bytes:
        return
    biggest = sorted(entries, key=lambda entry: entry.size, reverse=True)[:_BIGGEST_SHOWN]
    named = ", ".join(f"{entry.relative} ({about_bytes(entry.size)})" for entry in biggest)
    raise MusterError(
        f"{root} is too large to send: {about_bytes(total)}, the limit is {about_bytes(limit_bytes)}",
        code="too-large",
        hint=f"the biggest are {named}; {advice}",
    )


def _write(entries: list[Entry], archive: IO[bytes], compression: int, way_out: str) -> None:
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=compression, fileobj=archive, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for entry in entries:
            try:
                _add(tar, entry)
            except OSError as error:
                raise _unreadable(entry.path, error, way_out) from error


def _add(tar: tarfile.TarFile, entry: Entry) -> None:
    head = tarfile.TarInfo(entry.relative)  # owner, group and time are zero from the start
    if entry.link is not None:
        head.type, head.linkname, head.mode = tarfile.SYMTYPE, entry.link, 0o777
        tar.addfile(head)
    elif stat.S_ISDIR(entry.mode):
        head.type, head.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(head)
    else:
        head.mode = 0o755 if entry.mode & 0o111 else 0o644
        with entry.path.open("rb", buffering=1 << 20) as content:
            head.size = os.fstat(content.fileno()).st_size
            tar.addfile(head, content)


def _unreadable(path: Path, error: OSError, way_out: str) -> MusterError:
    return MusterError(f"cannot pack {path}: {error.strerror or error}", code=BAD_INPUT, hint=way_out)
