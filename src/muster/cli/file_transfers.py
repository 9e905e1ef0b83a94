"""Many files there and back: which ones, a few at a time, and what is said when some could not be moved."""

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
from muster.cli.tables import shown
from muster.client import file_transfers
from muster.client.errors import MusterError
from muster.client.files import Files, FileView, RemotePath
from muster.lib.texts import is_text

_AT_ONCE = 4
_TOLD = 10
_OWN = ".muster-"
_OF_ONE_FILE = (403, 404, 409, 422)
"""Refusals that concern one file, and say nothing about the next."""
_DISK_FULL = "disk-full"
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""And those of this machine that concern all."""
_NO_TEXT = "has a name that is no text"
_ODD = "is no ordinary file, or has a name that is no text"
_UNMOVED = {("link", "folder"): "is a link to a folder", ("link", "link"): "is a link that leads nowhere"}
"""By what it is, and what it leads to."""


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
class Lack:
    """Something that was not moved."""

    path: str
    why: str


@dataclass(slots=True)
class Report:
    """What became of all that was to be moved. Added to from several threads."""

    sizes: list[int] = field(default_factory=list)
    """Of the files that are there now."""
    left_out: list[Lack] = field(default_factory=list)
    refused: list[Lack] = field(default_factory=list)
    hint: str = ""

    def leave_out(self, path: object, why: str) -> None:
        """What cannot travel at all, and is known before."""
        self.left_out.append(Lack(_in_text(path), why))
        say_warning(f"left out: {shown(_in_text(path))} {shown(why)}")

    def refuse(self, path: object, why: str, hint: str = "") -> None:
        self.refused.append(Lack(_in_text(path), _in_text(why)))
        self.hint = self.hint or hint

    def document(self) -> dict[str, Any]:
        return {
            "files": len(self.sizes),
            "bytes": sum(self.sizes),
            "leftOut": [asdict(lack) for lack in self.left_out],
            "refused": [asdict(lack) for lack in self.refused],
        }

    def failure(self) -> Failure | None:
        """None if everything is there."""
        words = []
        if self.refused:
            words.append(f"{len(self.refused)} of {len(self.refused) + len(self.sizes)} files were not moved")
        if self.left_out:
            words.append(f"{len(self.left_out)} left out, as said above")
        if not words:
            return None
        told = tuple(shown(lack.why) for lack in self.refused[:_TOLD])
        more = (f"and {len(self.refused) - _TOLD} more",) if len(self.refused) > _TOLD else ()
        return Failure("; ".join(words), hint=self.hint, problems=told + more)


Item = TypeVar("Item", Outgoing, Incoming)


def outgoing(files: Files, local: Path, to: RemotePath, report: Report) -> Iterator[Outgoing]:
    """The file, or the files below a folder; folders are made on the way. A link to a file is that file."""
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
            if error.status not in _OF_ONE_FILE or below == ".":
                raise
            report.leave_out(folder, f"cannot be made there: {error.message}")
            names.clear()
            continue
        for name in sorted(own):
            if not name.startswith(_OWN):
                yield from _outgoing_file(Path(folder, name), here.child(name), report)


def incoming(files: Files, where: RemotePath, local: Path, report: Report) -> Iterator[Incoming]:
    """The files below a folder on a cluster; local folders are made on the way. A link to a file is that file."""
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
            if error.status not in _OF_ONE_FILE:
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
    """Ctrl-C leaves what was moved where it is, and says so."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        line.clear()
        say(f"stopped; {kept}, and {again} goes on where this one was")
        raise click.exceptions.Exit(130) from None


def _move_all(items: Sequence[Item], move: Callable[[Item], None], line: FileLine, report: Report) -> None:
    line.expected_files, line.expected_bytes = len(items), sum(item.size for item in items)

    def tried(item: Item) -> None:
        try:
            move(item)
        except MusterError as error:
            if error.status not in _OF_ONE_FILE or error.code == _DISK_FULL or len(items) == 1:
                raise
            report.refuse(item.source, error.message, error.hint)
        except OSError as error:
            if error.errno in _OF_THE_DISK or len(items) == 1:
                raise OSError(error.errno, error.strerror, str(item.local)) from error
            report.refuse(item.source, f"{item.local}: {error.strerror}")
        else:
            line.finished()
            report.sizes.append(item.size)

    if len(items) == 1:
        tried(items[0])
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
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
    """What comes from elsewhere names no other place here."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise Failure(f"the server listed a file with the name {name!r}, which is none")


def _outgoing_file(path: Path, to: RemotePath, report: Report) -> Iterator[Outgoing]:
    try:
        info = path.stat()
    except FileNotFoundError:
        report.leave_out(path, "leads nowhere" if path.is_symlink() else "is gone")
    except OSError as error:
        report.leave_out(path, f"cannot be read: {error.strerror}")
    else:
        if not stat.S_ISREG(info.st_mode):
            report.leave_out(path, "is no ordinary file")
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
    """Whatever bytes are in a name, it can be printed."""
    return os.fsencode(str(path)).decode("utf-8", "backslashreplace")
