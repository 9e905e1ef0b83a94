"""Uploads and downloads many files: selects them, moves a few at a time, and reports those that failed."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from muster.cli.failures import Failure
from muster.cli.file_progress import FileLine, Stopped
from muster.cli.session import say, say_warning
from muster.cli.tables.text_tables import shown
from muster.client import file_transfers
from muster.client.errors import MusterError
from muster.client.files import Files, FileView, RemotePath
from muster.lib.texts import is_text

_PARALLEL = 4
_MAX_REPORTED = 10
_OWN = ".muster-"
_SINGLE_FILE_STATUSES = (403, 404, 409, 422)
"""The statuses of errors that concern one file only, so that the others are still tried."""
_DISK_FULL = "disk-full"
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""The errors of the local disk that concern all files."""
_NO_TEXT = "has a name that is not valid UTF-8"
_ODD = "is not a regular file, or has a name that is not valid UTF-8"
_UNMOVED = {("link", "folder"): "is a link to a folder", ("link", "link"): "is a broken link"}
"""Why an entry is left out, by its kind and the kind of its target."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    local: Path
    to: RemotePath
    size: int

    @property
    def source(self) -> Path:
        return self.local


@dataclass(frozen=True, slots=True)
class Incoming:
    where: RemotePath
    facts: FileView
    local: Path

    @property
    def size(self) -> int:
        return self.facts.size

    @property
    def source(self) -> RemotePath:
        return self.where


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was not transferred, and why."""

    path: str
    why: str


@dataclass(slots=True)
class Report:
    """The result of a transfer of many files. Several threads add to it."""

    sizes: list[int] = field(default_factory=list)
    """The sizes of the files that were transferred."""
    left_out: list[SkippedFile] = field(default_factory=list)
    refused: list[SkippedFile] = field(default_factory=list)
    hint: str = ""

    def leave_out(self, path: object, why: str) -> None:
        """Adds a file that cannot be transferred at all."""
        self.left_out.append(SkippedFile(_in_text(path), why))
        say_warning(f"left out: {shown(_in_text(path))} {shown(why)}")

    def refuse(self, path: object, why: str, hint: str = "") -> None:
        self.refused.append(SkippedFile(_in_text(path), _in_text(why)))
        self.hint = self.hint or hint

    def document(self) -> dict[str, Any]:
        return {
            "files": len(self.sizes),
            "bytes": sum(self.sizes),
            "leftOut": [asdict(skipped) for skipped in self.left_out],
            "refused": [asdict(skipped) for skipped in self.refused],
        }

    def failure(self) -> Failure | None:
        """The error to report; None if all files were transferred."""
        words = []
        if self.refused:
            words.append(f"{len(self.refused)} of {len(self.refused) + len(self.sizes)} files were not transferred")
        if self.left_out:
            words.append(f"{len(self.left_out)} left out, see the warnings above")
        if not words:
            return None
        reported = tuple(shown(skipped.why) for skipped in self.refused[:_MAX_REPORTED])
        more = (f"and {len(self.refused) - _MAX_REPORTED} more",) if len(self.refused) > _MAX_REPORTED else ()
        return Failure("; ".join(words), hint=self.hint, problems=reported + more)


Item = TypeVar("Item", Outgoing, Incoming)


def outgoing(files: Files, local: Path, to: RemotePath, report: Report) -> Iterator[Outgoing]:
    """Yields the file, or the files below a folder, and creates the remote folders. A link to a file counts as it."""
    if not local.is_dir():
        yield from _outgoing_file(local, to, report)
        return
    for folder, names, own in os.walk(local, onerror=lambda error: _unreadable(error, report)):
        below = Path(folder).relative_to(local).as_posix()
        here = to if below == "." else to.child(below)
        for name in [name for name in names if not _may_enter(Path(folder, name), report)]:
            names.remove(name)
        try:
            files.mkdir(here, parents=True)
        except MusterError as error:
            if error.status not in _SINGLE_FILE_STATUSES or below == ".":
                raise
            report.leave_out(folder, f"cannot be created on the cluster: {error.message}")
            names.clear()
            continue
        for name in sorted(own):
            if not name.startswith(_OWN):
                yield from _outgoing_file(Path(folder, name), here.child(name), report)


def incoming(files: Files, where: RemotePath, local: Path, report: Report) -> Iterator[Incoming]:
    """Yields the files below a folder on a cluster, and creates the local folders. A link to a file counts as it."""
    entries = list(files.list(where))
    local.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        _check_name(entry.name)
        there, here = where.child(entry.name), local / entry.name
        if entry.name.startswith(_OWN):
            continue
        try:
            facts = files.stat(there) if entry.kind == "link" else entry
            if facts.kind == "file":
                yield Incoming(there, facts, here)
            elif entry.kind == "folder":
                yield from incoming(files, there, here, report)
            else:
                report.leave_out(there, _UNMOVED.get((entry.kind, facts.kind), _ODD))
        except MusterError as error:
            if error.status not in _SINGLE_FILE_STATUSES:
                raise
            report.leave_out(there, f"cannot be read: {error.message.removeprefix(f'{there}: ')}")


def put_all(files: Files, items: Sequence[Outgoing], line: FileLine, report: Report, *, force: bool) -> None:
    def put(item: Outgoing) -> None:
        file_transfers.put(files, item.local, item.to, force=force, tell=line.moved)

    _move_all(items, put, line, report)


def get_all(files: Files, items: Sequence[Incoming], line: FileLine, report: Report, *, force: bool) -> None:
    def get(item: Incoming) -> None:
        file_transfers.get(files, item.where, item.local, facts=item.facts, force=force, tell=line.moved)

    _move_all(items, get, line, report)


@contextmanager
def resumable(line: FileLine, kept: str, again: str) -> Iterator[None]:
    """On Ctrl-C, keeps what was transferred and says how to resume."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        line.clear()
        say(f"interrupted; {kept}, and {again} resumes the transfer")
        raise click.exceptions.Exit(130) from None


def _move_all(items: Sequence[Item], move: Callable[[Item], None], line: FileLine, report: Report) -> None:
    line.expected_files, line.expected_bytes = len(items), sum(item.size for item in items)

    def tried(item: Item) -> None:
        try:
            move(item)
        except MusterError as error:
            if error.status not in _SINGLE_FILE_STATUSES or error.code == _DISK_FULL or len(items) == 1:
                raise
            report.refuse(item.source, error.message, error.hint)
        except OSError as error:
            if error.errno in _DISK_ERRORS or len(items) == 1:
                raise OSError(error.errno, error.strerror, str(item.local)) from error
            report.refuse(item.source, f"{item.local}: {error.strerror}")
        else:
            line.finished()
            report.sizes.append(item.size)

    if len(items) == 1:
        tried(items[0])
        return
    with ThreadPoolExecutor(_PARALLEL) as pool:
        moving = [pool.submit(tried, item) for item in items]
        try:
            _wait(moving)
        except BaseException:
            line.is_stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _wait(moving: "Sequence[Future[None]]") -> None:
    done, _ = wait(moving, return_when=FIRST_EXCEPTION)
    for future in done:
        future.result()


def _check_name(name: str) -> None:
    """Refuses names from the server that would lead out of the target folder."""
    if not name or "/" in name or "\0" in name or name in (".", "..") or Path(name).name != name:
        raise Failure(f"the server listed a file with the name {name!r}, which is not a valid file name")


def _outgoing_file(path: Path, to: RemotePath, report: Report) -> Iterator[Outgoing]:
    try:
        info = path.stat()
    except FileNotFoundError:
        report.leave_out(path, "is a broken link" if path.is_symlink() else "no longer exists")
    except OSError as error:
        report.leave_out(path, f"cannot be read: {error.strerror}")
    else:
        if not stat.S_ISREG(info.st_mode):
            report.leave_out(path, "is not a regular file")
        elif not is_text(path.name):
            report.leave_out(path, _NO_TEXT)
        else:
            yield Outgoing(path, to, info.st_size)


def _may_enter(folder: Path, report: Report) -> bool:
    if folder.is_symlink():
        report.leave_out(folder, _UNMOVED["link", "folder"])
    elif not is_text(folder.name):
        report.leave_out(folder, _NO_TEXT)
    else:
        return True
    return False


def _unreadable(error: OSError, report: Report) -> None:
    report.leave_out(error.filename, f"cannot be read: {error.strerror}")


def _in_text(path: object) -> str:
    """The name in a form that can be printed, whatever bytes it contains."""
    return os.fsencode(str(path)).decode("utf-8", "backslashreplace")
