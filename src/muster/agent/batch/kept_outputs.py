"""Keeps the outputs that allocations without a shared folder send to the login node, in the working folders that their
tasks have in the spool.

A task is not trusted: no name leads out of its folder, and all tasks of a gang together keep no more than the server
would. A file that has not arrived as a whole is not among the outputs.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Tuple

from muster.agent import requests
from muster.agent.batch.spool import WORK, Gang
from muster.agent.files.confined import is_text, place
from muster.agent.files.pieces import MAX_WRITE_BYTES, PartialFile
from muster.agent.node.facts import disk_free_bytes
from muster.agent.system.disk import read_json, write_json
from muster.agent.tasks.outputs import MAX_FILES

Answer = Dict[str, Any]
LIMIT = "output_bytes"
"""The fact of a gang that says how much its tasks may keep. None if they share their folders with the login node."""
_PARTIAL = "output.partial"
_TOLD = "outputs.json"
_FREE_BYTES = 64 << 20
"""What outputs leave free on the disk: marks and logs go there, too."""
_LAST_TIME = 1 << 33
_WORDS = 2000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UNTOLD = "the task was ended before all of them were sent to the login node"
Parts = Tuple[str, ...]


class KeptOutputs:
    def __init__(self, free_bytes: Callable[[str], int] = disk_free_bytes) -> None:
        self._free_bytes = free_bytes
        self._lock = threading.Lock()
        self._rooms: Dict[str, _Room] = {}

    def take(self, gang: Gang, task: str, message: Mapping[str, Any]) -> Answer:
        """Keep a piece of a file. `taken` is false if the gang has no room for the file within its limit. Doing it
        again is harmless. Raises OSError, and AgentError for a name that leads out of the folder."""
        parts = place("/", requests.relative_path(message, "path")).parts
        offset = requests.whole_number(message, "offset", 0, 1 << 62)
        size = requests.whole_number(message, "size", 0, 1 << 62)
        mtime, data = _time(message), requests.data(message, MAX_WRITE_BYTES)
        if not parts or offset + len(data) > size:
            raise requests.bad_request("a piece must be a part of a file")
        os.makedirs(os.path.join(gang.task_folder(task), WORK), 0o700, exist_ok=True)
        room = self._room(gang)
        with room.lock, _opened(gang.task_folder(task)) as folder:
            if _is_kept(folder, parts, size):
                return {"taken": True}
            if not room.may_come(task, parts, size):
                return {"taken": False}
            try:
                self._write(gang, folder, offset, data)
                if offset + len(data) == size:
                    _keep(folder, parts, mtime)
                    room.arrived(task)
            except OSError:
                PartialFile(_PARTIAL, folder).remove()
                raise
        return {"taken": True}

    def forget(self, key: str) -> None:
        with self._lock:
            self._rooms.pop(key, None)

    def _room(self, gang: Gang) -> "_Room":
        with self._lock:
            if gang.key not in self._rooms:
                self._rooms[gang.key] = _Room(gang)
            return self._rooms[gang.key]

    def _write(self, gang: Gang, folder: int, offset: int, data: bytes) -> None:
        if self._free_bytes(gang.folder) < _FREE_BYTES + len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        partial = PartialFile(_PARTIAL, folder, 0o600)
        if offset == 0:
            partial.remove()
        answer = partial.write(offset, data)
        if not answer["written"] and answer["size"] != offset + len(data):
            raise OSError(errno.EIO, "a piece is missing before this one")


def write_told(gang: Gang, task: str, message: Mapping[str, Any]) -> None:
    """Write down what the task said about its outputs when all that can be sent was there."""
    left_out = message["left_out"]
    if not isinstance(left_out, list) or not all(isinstance(name, str) for name in left_out):
        raise requests.bad_request("left_out must be a list of names")
    counts = {name: requests.whole_number(message, name, 0, 1 << 62) for name in ("skipped", "too_deep")}
    os.makedirs(gang.task_folder(task), 0o700, exist_ok=True)
    told = {"left_out": list(filter(is_text, left_out)), **counts, "problem": _text(message["problem"])}
    write_json(os.path.join(gang.task_folder(task), _TOLD), told)


def read_told(gang: Gang, task: str) -> Optional[Answer]:
    """What is missing of the outputs of a task in the spool, and why. None if nothing can be."""
    if (gang.facts() or {}).get(LIMIT) is None:
        return None
    told = read_json(os.path.join(gang.task_folder(task), _TOLD))
    return told if told is not None else {"left_out": [], "skipped": 0, "too_deep": 0, "problem": _UNTOLD}


class _Room:
    """How much of the limit of a gang is left. Whoever asks or changes it holds its lock."""

    def __init__(self, gang: Gang) -> None:
        self.lock = threading.Lock()
        facts = gang.facts() or {}
        self._limit = int(facts.get(LIMIT) or 0)
        self._bytes = 0
        self._files: Dict[str, int] = {}
        self._coming: Dict[str, Tuple[Parts, int]] = {}
        for task in facts.get("tasks") or ():  # what an agent before us has kept
            for folder, _, names in os.walk(os.path.join(gang.task_folder(task), WORK)):
                self._files[task] = self._files.get(task, 0) + len(names)
                self._bytes += sum(os.lstat(os.path.join(folder, name)).st_size for name in names)

    def may_come(self, task: str, parts: Parts, size: int) -> bool:
        """Whether a file has room, which is kept for it until it has arrived or its task sends another one."""
        if self._coming.get(task) == (parts, size):
            return True
        others = sum(size for other, (_, size) in self._coming.items() if other != task)
        if self._bytes + others + size > self._limit or self._files.get(task, 0) >= MAX_FILES:
            return False
        self._coming[task] = (parts, size)
        return True

    def arrived(self, task: str) -> None:
        _, size = self._coming.pop(task)
        self._bytes += size
        self._files[task] = self._files.get(task, 0) + 1


def _text(value: object) -> str:
    return str(value)[:_WORDS].encode("utf-8", "replace").decode("utf-8")


def _time(message: Mapping[str, Any]) -> float:
    value = message.get("mtime")
    if not isinstance(value, (int, float)) or not 0 <= value <= _LAST_TIME:
        raise requests.bad_request("mtime must be a time")
    return float(value)


@contextmanager
def _opened(path: str, *below: str) -> Iterator[int]:
    """A folder, and those below it, none of them through a link."""
    fd = os.open(path, _FOLDER)
    try:
        for name in below:
            above, fd = fd, os.open(name, _FOLDER, dir_fd=fd)
            os.close(above)
        yield fd
    finally:
        os.close(fd)


def _is_kept(folder: int, parts: Parts, size: int) -> bool:
    """Whether the whole file is there already: the answer to its last piece was lost."""
    try:
        with _opened("/proc/self/fd/{}/{}".format(folder, WORK), *parts[:-1]) as target:
            status = os.stat(parts[-1], dir_fd=target, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == size


def _keep(folder: int, parts: Parts, mtime: float) -> None:
    """Give a file that has arrived its name."""
    os.utime(_PARTIAL, (mtime, mtime), dir_fd=folder, follow_symlinks=False)
    fd = os.open(WORK, _FOLDER, dir_fd=folder)
    try:
        for name in parts[:-1]:
            try:
                os.mkdir(name, 0o700, dir_fd=fd)
            except FileExistsError:
                pass
            above, fd = fd, os.open(name, _FOLDER, dir_fd=fd)
            os.close(above)
        os.rename(_PARTIAL, parts[-1], src_dir_fd=folder, dst_dir_fd=fd)
    finally:
        os.close(fd)
