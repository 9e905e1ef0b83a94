"""The operations on files in the folders of a node that people can see. The server decides which folders those are and
who may use them; this module makes sure that no path leaves the root that it was given.

Requests name a `root`, absolute, and a `path` below it. Answers never name the root. Where tasks run under the accounts
of their owners, a request also names its user, and is served with the rights of the same account.
"""

from __future__ import annotations

import bisect
import os
import re
import stat
from typing import Any, Callable, Dict, Mapping, Optional

from muster.agent import requests
from muster.agent.errors import BAD_REQUEST, AgentError
from muster.agent.files import in_place, transfers, trees
from muster.agent.files.confined import Place, Walk, is_text, listing, place, rename
from muster.agent.files.digests import Digests
from muster.agent.files.file_errors import DENIED, file_error
from muster.agent.files.folder_checks import MARKER
from muster.agent.files.leftovers import PARTIAL_PREFIX, Leftovers
from muster.agent.files.pieces import MAX_READ_BYTES, MAX_WRITE_BYTES, version
from muster.agent.files.stepwise import Runs
from muster.agent.files.stepwise import Work as Steps
from muster.agent.files.transfers import Uploads
from muster.agent.system.file_identity import FileIdentity, acting_as, is_own

MAX_LISTED = 5000
_OWN_PREFIX = ".muster-"
_KEY = re.compile(r"[0-9a-z]{8,64}\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")

Answer = Dict[str, Any]
Work = Callable[[], Answer]
Request = Mapping[str, Any]
Operation = Callable[[Request], Work]


class Filing:
    """`identity_of` finds the account of a request's user on the loop. None stands for the agent's own."""

    def __init__(
        self,
        leftovers: Optional[Leftovers] = None,
        identity_of: Callable[[Request], Optional[FileIdentity]] = lambda request: None,
    ) -> None:
        self._identity_of = identity_of
        self._runs = Runs()
        self._digests = Digests()
        self._uploads = Uploads(self._digests, leftovers or Leftovers())

    def operations(self) -> Dict[str, Operation]:
        """The entries for the table of slow operations."""
        table: Dict[str, Operation] = {
            "fs_list": _list,
            "fs_stat": _stat,
            "fs_read": _read,
            "fs_received": self._received,
            "fs_write": self._write,
            "fs_commit": self._commit,
            "fs_abort": self._abort,
            "fs_digest": self._digest,
            "fs_resize": _resize,
            "fs_write_at": _write_at,
            "fs_mkdir": _mkdir,
            "fs_move": _move,
            "fs_copy": self._copy,
            "fs_remove": self._remove,
            "fs_usage": self._usage,
        }
        return {name: self._translating(operation) for name, operation in table.items()}

    def _received(self, request: Request) -> Work:
        where, upload = _new(request), _key(request, "upload")
        return lambda: self._uploads.received(where, upload)

    def _write(self, request: Request) -> Work:
        where, upload, data = _new(request), _key(request, "upload"), requests.data(request, MAX_WRITE_BYTES)
        offset, overwrite = requests.whole_number(request, "offset", 0, 1 << 62), _flag(request, "overwrite")
        return self._uploads.write(where, upload, offset, data, overwrite)

    def _commit(self, request: Request) -> Work:
        where, upload = _new(request), _key(request, "upload")
        size, sha256 = requests.whole_number(request, "size", 0, 1 << 62), requests.text(request, "sha256")
        if not _SHA256.match(sha256):
            raise AgentError(BAD_REQUEST, "sha256 must be 64 hexadecimal digits")
        overwrite, executable = _flag(request, "overwrite"), _flag(request, "executable")
        return self._stepped(request, lambda: self._uploads.commit(where, upload, size, sha256, overwrite, executable))

    def _abort(self, request: Request) -> Work:
        where, upload = _new(request), _key(request, "upload")
        return lambda: self._uploads.abort(where, upload)

    def _digest(self, request: Request) -> Work:
        """Hash a file, its first bytes, or what has arrived of an upload."""
        if request.get("upload") is not None:
            target, upload = _new(request), _key(request, "upload")
            return self._stepped(request, lambda: self._uploads.part_digest(target, upload))
        where = _place(request)
        length = None if request.get("length") is None else requests.whole_number(request, "length", 0, 1 << 62)
        return self._stepped(request, lambda: self._file_digest(where, length))

    def _file_digest(self, where: Place, length: Optional[int]) -> Steps:
        with Walk(where.root) as walk:
            yield from self._digests.work(walk.find(where.parts), length)

    def _copy(self, request: Request) -> Work:
        source, target, run = _place(request), _target(request), _key(request, "run")
        recursive, overwrite = _flag(request, "recursive"), _flag(request, "overwrite")
        return self._stepped(request, lambda: trees.copy(source, target, run, recursive, overwrite))

    def _remove(self, request: Request) -> Work:
        where, recursive = _removable(request), _flag(request, "recursive")
        return self._stepped(request, lambda: trees.remove(where, recursive))

    def _usage(self, request: Request) -> Work:
        where = _place(request)
        return self._stepped(request, lambda: trees.usage(where))

    def _stepped(self, request: Request, begin: Callable[[], Steps]) -> Work:
        """A request with the same `run` and path goes on where the last one stopped."""
        key = "{}\0{}\0{}\0{}".format(request["op"], _key(request, "run"), request["root"], request.get("path"))
        identity = self._identity_of(request)
        user = str(request.get("user") or "")
        return lambda: self._runs.step(key, lambda: _stepping_as(identity, begin()), user)

    def _translating(self, operation: Operation) -> Operation:
        def checked(request: Request) -> Work:
            identity = self._identity_of(request)
            work = operation(request)

            def run() -> Answer:
                try:
                    with acting_as(identity):
                        return work()
                except OSError as error:
                    raise file_error(error, identity) from error

            return run

        return checked


def _stepping_as(identity: Optional[FileIdentity], work: Steps) -> Steps:
    """Work that is dropped, by whomever, cleans up with the rights of its own user."""
    try:
        yield from work
    finally:
        with acting_as(identity):
            work.close()


def _list(request: Request) -> Work:
    where, limit = _place(request), requests.whole_number(request, "limit", 1, MAX_LISTED)
    after = request.get("after") or ""
    if not isinstance(after, str):
        raise AgentError(BAD_REQUEST, "after must be a name")
    return lambda: _listed(where, limit, after)


def _listed(where: Place, limit: int, after: str) -> Answer:
    """Only the entries of the answer are examined one by one: a folder may have very many. The marker by which nodes
    compare their folders is nobody's file."""
    with Walk(where.root) as walk, listing(walk.enter(where.parts)) as fd:
        names = sorted(name for name in os.listdir(fd) if where.parts or name != MARKER)
        first = bisect.bisect_right(names, after)
        page = names[first : first + limit]
        entries = [_entry(name, fd) for name in page]
    found = [entry for entry in entries if entry is not None]
    return {"entries": found, "next": page[-1] if first + limit < len(names) else None}


def _entry(name: str, folder: int) -> Optional[Answer]:
    try:
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        target = os.readlink(name, dir_fd=folder) if stat.S_ISLNK(info.st_mode) else None
    except OSError:
        return None  # it is gone, or something else now
    kind = _kind(info.st_mode) if is_text(name) else "other"
    if kind == "file" and name.startswith(PARTIAL_PREFIX):
        kind = "upload"
    return {"name": _shown(name), **_facts(info), "kind": kind, "target": _shown(target)}


def _stat(request: Request) -> Work:
    where = _place(request)
    return lambda: _found(where)


def _found(where: Place) -> Answer:
    with Walk(where.root) as walk:
        info = os.fstat(walk.find(where.parts))
    return {**_facts(info), "private": _is_private(where, info)}


def _is_private(where: Place, info: os.stat_result) -> bool:
    """Whether it belongs to the account that asks, and no other account may write to it or, by a link, exchange it."""
    if not is_own(info) or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    if not where.parts:
        return True
    with Walk(where.root) as walk:
        walk.find(where.parts[:-1])
        named = os.stat(where.parts[-1], dir_fd=walk.fd, follow_symlinks=False)
    return os.path.samestat(named, info)


def _facts(info: os.stat_result) -> Answer:
    return {
        "kind": _kind(info.st_mode),
        "size": info.st_size,
        "mtime": info.st_mtime,
        "mode": stat.S_IMODE(info.st_mode),
        "version": version(info),
    }


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _shown(name: Optional[str]) -> Optional[str]:
    """Names are bytes; those that are not UTF-8 are shown, but cannot be asked for."""
    return None if name is None else os.fsencode(name).decode("utf-8", "backslashreplace")


def _read(request: Request) -> Work:
    where = _place(request)
    offset = requests.whole_number(request, "offset", 0, 1 << 62)
    limit = requests.whole_number(request, "limit", 0, MAX_READ_BYTES)
    wanted = request.get("version")
    return lambda: transfers.read(where, offset, limit, wanted)


def _resize(request: Request) -> Work:
    where, size = _new(request), requests.whole_number(request, "size", 0, 1 << 62)
    return lambda: in_place.resize(where, size)


def _write_at(request: Request) -> Work:
    where, data = _new(request), requests.data(request, MAX_WRITE_BYTES)
    offset = requests.whole_number(request, "offset", 0, 1 << 62)
    return lambda: in_place.write_at(where, offset, data)


def _mkdir(request: Request) -> Work:
    where, parents = _new(request), _flag(request, "parents")
    mode = 0o700 if _flag(request, "private") else 0o777
    return lambda: _made(where, parents, mode)


def _made(where: Place, parents: bool, mode: int) -> Answer:
    with Walk(where.root) as walk:
        if not parents:
            os.mkdir(where.name, mode, dir_fd=walk.enter(where.parts[:-1]))
            return {}
        for name in where.parts:
            try:
                os.mkdir(name, mode, dir_fd=walk.fd)
            except FileExistsError:
                pass
            walk.enter((name,))
    return {}


def _move(request: Request) -> Work:
    source, target, overwrite = _new(request), _target(request), _flag(request, "overwrite")
    return lambda: _moved(source, target, overwrite)


def _moved(source: Place, target: Place, overwrite: bool) -> Answer:
    with Walk(source.root) as here, Walk(target.root) as there:
        folder, to_folder = here.enter(source.parts[:-1]), there.enter(target.parts[:-1])
        rename(source.name, folder, target.name, to_folder, overwrite)
    return {}


def _place(request: Request) -> Place:
    path = request.get("path")
    if not isinstance(path, str):
        raise AgentError(BAD_REQUEST, "path must be a text")
    return place(requests.text(request, "root"), path)


def _new(request: Request) -> Place:
    """A place that may be made or changed: not the root itself, and no file of Muster."""
    found = _place(request)
    if found.name.startswith(_OWN_PREFIX):
        raise AgentError(DENIED, "names that begin with {} belong to Muster".format(_OWN_PREFIX))
    return found


def _removable(request: Request) -> Place:
    """An abandoned upload may be removed by its name."""
    found = _place(request)
    return found if found.name.startswith(PARTIAL_PREFIX) else _new(request)


def _target(request: Request) -> Place:
    return _new({"root": request.get("to_root"), "path": request.get("to_path")})


def _key(request: Request, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str) or not _KEY.match(value):
        raise AgentError(BAD_REQUEST, "{} must be 8 to 64 small letters and digits".format(name))
    return value


def _flag(request: Request, name: str) -> bool:
    return request.get(name) is True
