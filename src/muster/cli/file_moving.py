"""Many files there and back: which ones, a few at a time, and what is said when some could not be moved."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from muster.cli.failures import Failure
from muster.cli.file_progress import FileLine, Stopped
from muster.cli.session import say, say_warning
from muster.client import file_transfers
from muster.client.errors import MusterError
from muster.client.files import Files, FileView, RemotePath

Item = TypeVar("Item")
_AT_ONCE = 4
_TOLD = 10
_OWN = ".muster-"
_OF_ONE_FILE = (403, 404, 409, 422)
"""Refusals that concern one file, and say nothing about the next."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    local: Path
    to: RemotePath
    size: int


@dataclass(frozen=True, slots=True)
class Incoming:
    where: RemotePath
    facts: FileView
    local: Path


def outgoing(files: Files, local: Path, to: RemotePath) -> list[Outgoing]:
    """The files below a local folder; folders are made on the way."""
    found = []
    for folder, names, own in os.walk(local):
        below = Path(folder).relative_to(local).as_posix()
        here = to if below == "." else to.child(below)
        files.mkdir(here, parents=True)
        for name in [name for name in names if Path(folder, name).is_symlink()]:
            say_warning(f"left out: {Path(folder, name)} is a link to a folder")
        for name in sorted(own):
            path = Path(folder, name)
            if name.startswith(_OWN):
                continue
            info = path.stat() if path.exists() else None
            if info is None or not stat.S_ISREG(info.st_mode):
                say_warning(f"left out: {path} is no ordinary file")
            else:
                found.append(Outgoing(path, here.child(name), info.st_size))
    return found


def incoming(files: Files, where: RemotePath, local: Path) -> Iterator[Incoming]:
    """The files below a folder on a cluster; local folders are made on the way."""
    local.mkdir(parents=True, exist_ok=True)
    for entry in files.list(where):
        _check_name(entry.name)
        if entry.name.startswith(_OWN):
            continue
        if entry.kind == "folder":
            yield from incoming(files, where.child(entry.name), local / entry.name)
        elif entry.kind == "file":
            yield Incoming(where.child(entry.name), entry, local / entry.name)
        else:
            say_warning(f"left out: {where.child(entry.name)} is a {entry.kind}")


def put_all(files: Files, items: Sequence[Outgoing], line: FileLine, *, force: bool) -> None:
    line.expected_files, line.expected_bytes = len(items), sum(item.size for item in items)
    _move_all(items, lambda item: file_transfers.put(files, item.local, item.to, force=force, tell=line.moved), line)


def get_all(files: Files, items: Sequence[Incoming], line: FileLine, *, force: bool) -> None:
    line.expected_files, line.expected_bytes = len(items), sum(item.facts.size for item in items)

    def get(item: Incoming) -> None:
        file_transfers.get(files, item.where, item.local, facts=item.facts, force=force, tell=line.moved)

    _move_all(items, get, line)


@contextmanager
def resumable(line: FileLine, kept: str) -> Iterator[None]:
    """Ctrl-C leaves what was moved where it is, and says so."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        line.clear()
        say(f"stopped; {kept}, and the same command goes on where this one was")
        raise click.exceptions.Exit(130) from None


def _move_all(items: Sequence[Item], move: Callable[[Item], None], line: FileLine) -> None:
    refused: list[MusterError] = []

    def tried(item: Item) -> None:
        try:
            move(item)
            line.finished()
        except MusterError as error:
            if error.status not in _OF_ONE_FILE or len(items) == 1:
                raise
            refused.append(error)

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
    if refused:
        told = tuple(error.message for error in refused[:_TOLD])
        more = (f"and {len(refused) - _TOLD} more",) if len(refused) > _TOLD else ()
        raise Failure(
            f"{len(refused)} of {len(items)} files were not moved", hint=refused[0].hint, problems=told + more
        )


def _wait(moving: "Sequence[Future[None]]") -> None:
    done, _ = wait(moving, return_when=FIRST_EXCEPTION)
    for future in done:
        future.result()


def _check_name(name: str) -> None:
    """What comes from elsewhere names no other place here."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise Failure(f"the server listed a file with the name {name!r}, which is none")
