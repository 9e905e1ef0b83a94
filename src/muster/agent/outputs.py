"""What a task left in its working folder and somebody asked for: which files match, and their bytes.

Regular files only. A link to a file is told as that file while it stays inside the working folder; whatever leads out
is never told and never read, also when the task changes its folder while we look.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from itertools import repeat
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Tuple

from muster.agent import folders, orders
from muster.agent.errors import BAD_REQUEST, SYSTEM, AgentError
from muster.agent.tasks import TaskBook

MAX_READ_BYTES = 1024 * 1024
MAX_FILES = 20_000
PAGE = 500
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Answer = Dict[str, Any]
Work = Callable[[], Answer]
States = FrozenSet[int]


class Outputs:
    def __init__(self, root: str, book: TaskBook) -> None:
        self._root = root
        self._book = book

    def operations(self) -> Dict[str, Callable[[Mapping[str, Any]], Work]]:
        return {"outputs_list": self._list, "outputs_read": self._read}

    def _list(self, request: Mapping[str, Any]) -> Work:
        work = self._work(orders.task_id(request))
        patterns = [Pattern(text) for text in orders.relative_paths(request, "patterns")]
        after = request.get("after") or ""
        if not isinstance(after, str):
            raise AgentError(BAD_REQUEST, "after must be a path of an earlier answer")
        return lambda: page(work, patterns, after)

    def _read(self, request: Mapping[str, Any]) -> Work:
        work = self._work(orders.task_id(request))
        path = orders.relative_path(request, "path")
        offset = orders.whole_number(request, "offset", 0, 1 << 62)
        limit = orders.whole_number(request, "limit", 0, MAX_READ_BYTES)
        return lambda: read(work, path, offset, limit)

    def _work(self, uid: str) -> str:
        """Also of a task whose folder was put aside already."""
        task = self._book.get(uid)
        folder = os.path.join(self._root, "ended", uid) if task is None else task.folder
        return os.path.join(folder, folders.WORK)


class Pattern:
    """`model/` is a folder with all below it, `metrics.json` a file (or a folder), `logs/*.csv` what matches in one
    folder, `**/*.csv` at any depth. Read part by part, so that folders which cannot match are not entered."""

    def __init__(self, text: str) -> None:
        self._parts = [part for part in text.split("/") if part not in ("", ".")]
        self._is_folder = text.endswith("/")
        self.start = self._closure({0})

    def step(self, states: States, name: str) -> States:
        reached = set()
        for state in states:
            if state == len(self._parts) or self._parts[state] == "**":
                reached.add(state)
            elif fnmatchcase(name, self._parts[state]):
                reached.add(state + 1)
        return self._closure(reached)

    def takes(self, above: States, here: States) -> bool:
        """Whether a file is meant that is reached with `here` in a folder that was reached with `above`."""
        return len(self._parts) in (above if self._is_folder else here)

    def _closure(self, states: "set[int]") -> States:
        reached = set(states)
        for state in range(len(self._parts)):
            if state in reached and self._parts[state] == "**":
                reached.add(state + 1)
        return frozenset(reached)


def page(work: str, patterns: Sequence[Pattern], after: str) -> Answer:
    """The next files in order of their paths. `more` says to ask again; `skipped` are those that nobody can be told of:
    names that are no text, and what is beyond the greatest number."""
    root = os.path.realpath(work)
    found: Dict[str, os.stat_result] = {}
    skipped = 0
    for relative, status in _matching(root, patterns):
        if len(found) >= MAX_FILES or not _is_text(relative):
            skipped += 1
        else:
            found[relative] = status
    later = sorted(path for path in found if path > after)
    files = [{"path": path, "size": found[path].st_size, "mtime": found[path].st_mtime} for path in later[:PAGE]]
    return {"files": files, "more": len(later) > PAGE, "skipped": skipped}


def read(work: str, path: str, offset: int, limit: int) -> Answer:
    root = os.path.realpath(work)
    fd = _open_inside(root, path)
    if fd is None:
        raise AgentError(SYSTEM, "{!r} is not a file of this task any more".format(path))
    try:
        data = os.pread(fd, limit, offset)
        status = os.fstat(fd)
    finally:
        os.close(fd)
    return {"data": data, "offset": offset, "size": status.st_size, "mtime": status.st_mtime}


def _matching(root: str, patterns: Sequence[Pattern]) -> Iterator[Tuple[str, os.stat_result]]:
    below: List[Tuple[str, List[States]]] = [("", [pattern.start for pattern in patterns])]
    while below:
        folder, above = below.pop()
        try:
            entries = list(os.scandir(os.path.join(root, folder)))
        except OSError:
            continue  # gone, or its owner took away their own permission
        for entry in entries:
            relative = "{}/{}".format(folder, entry.name) if folder else entry.name
            here = list(map(Pattern.step, patterns, above, repeat(entry.name)))
            if entry.is_dir(follow_symlinks=False):
                if any(here):
                    below.append((relative, here))
            elif any(map(Pattern.takes, patterns, above, here)):
                status = _file_status(root, relative)
                if status is not None:
                    yield relative, status


def _file_status(root: str, relative: str) -> Optional[os.stat_result]:
    fd = _open_inside(root, relative)
    if fd is None:
        return None
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def _open_inside(root: str, relative: str) -> Optional[int]:
    """The file's descriptor if it is a regular one inside the root. Links are resolved first and the way there is then
    walked without following any, so that nothing put in the way meanwhile can lead out."""
    target = os.path.realpath(os.path.join(root, relative))
    if not target.startswith(root + os.sep):
        return None
    *parents, name = target[len(root) + 1 :].split(os.sep)
    folder = -1
    try:
        folder = os.open(root, _FOLDER)
        for part in parents:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        fd = os.open(name, _FILE, dir_fd=folder)
    except OSError:
        return None
    finally:
        if folder >= 0:
            os.close(folder)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
