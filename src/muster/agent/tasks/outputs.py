"""The outputs of a task: which files in its working folder match the patterns of the spec, and their bytes.

Only regular files are outputs. A link to a file counts as that file if it stays inside the working folder. A link that
leads out is never listed and never read, even if the task changes its folder meanwhile (`confined` sees to that). Files
that match and cannot be read are counted.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from itertools import repeat
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from muster.agent import requests
from muster.agent.errors import BAD_REQUEST, SYSTEM, AgentError
from muster.agent.files.confined import MAX_DEPTH, Walk, is_text, listing, looking, place, reading
from muster.agent.files.file_errors import CHANGED, TOO_DEEP
from muster.agent.files.pieces import MAX_READ_BYTES, Answer, read_piece, version
from muster.agent.tasks import task_folder

if TYPE_CHECKING:
    from muster.agent.tasks.table import TaskBook

MAX_FILES = 20_000
PAGE = 500

Work = Callable[[], Answer]
States = FrozenSet[int]


class Outputs:
    """`work_of` returns the working folder of a task, by its id."""

    def __init__(self, work_of: Callable[[str], str]) -> None:
        self._work = work_of

    def operations(self) -> Dict[str, Callable[[Mapping[str, Any]], Work]]:
        return {"outputs_list": self._list, "outputs_read": self._read}

    def _list(self, request: Mapping[str, Any]) -> Work:
        work = self._work(requests.task_id(request))
        patterns = [Pattern(text) for text in requests.relative_paths(request, "patterns")]
        after = request.get("after") or ""
        if not isinstance(after, str):
            raise AgentError(BAD_REQUEST, "after must be a path of an earlier answer")
        return lambda: page(work, patterns, after)

    def _read(self, request: Mapping[str, Any]) -> Work:
        work = self._work(requests.task_id(request))
        path = requests.relative_path(request, "path")
        offset = requests.whole_number(request, "offset", 0, 1 << 62)
        limit = requests.whole_number(request, "limit", 0, MAX_READ_BYTES)
        wanted = request.get("version")
        return lambda: read(work, path, offset, limit, wanted)


def work_folders(root: str, book: TaskBook) -> Callable[[str], str]:
    """The working folders of this agent's tasks; a retired task has one too."""

    def work_of(uid: str) -> str:
        task = book.get(uid)
        folder = os.path.join(root, "ended", uid) if task is None else task.folder
        return os.path.join(folder, task_folder.WORK)

    return work_of


class Pattern:
    """`model/` is a folder with all below it, `metrics.json` a file or a folder, `logs/*.csv` names files in one
    folder, `**/*.csv` files at any depth. It is matched part by part, so that folders that cannot match are not
    entered."""

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
        """Returns whether the pattern names a file reached with `here`, in a folder that was reached with `above`."""
        return len(self._parts) in (above if self._is_folder else here)

    def _closure(self, states: "set[int]") -> States:
        reached = set(states)
        for state in range(len(self._parts)):
            if state in reached and self._parts[state] == "**":
                reached.add(state + 1)
        return frozenset(reached)


class Found(NamedTuple):
    """The files that match, by their paths. `skipped` counts files whose name is not text, that may not be read, or
    that are beyond the greatest number; `too_deep` counts folders that are nested too deep, and links to files
    there."""

    files: Dict[str, os.stat_result]
    skipped: int
    too_deep: int


def find(work: str, patterns: Sequence[Pattern]) -> Found:
    search = _Search(work, patterns)
    files: Dict[str, os.stat_result] = {}
    for relative, status in search.files():
        if len(files) >= MAX_FILES or not is_text(relative):
            search.skipped += 1
        else:
            files[relative] = status
    return Found(files, search.skipped, search.too_deep)


def page(work: str, patterns: Sequence[Pattern], after: str) -> Answer:
    """The next files in order of their paths. `more` means that there is another page."""
    found = find(work, patterns)
    later = sorted(path for path in found.files if path > after)
    return {
        "files": [_facts(path, found.files[path]) for path in later[:PAGE]],
        "more": len(later) > PAGE,
        "skipped": found.skipped,
        "too_deep": found.too_deep,
    }


def read(work: str, path: str, offset: int, limit: int, wanted: Optional[str] = None) -> Answer:
    where = place(os.path.abspath(work), path)
    try:
        with Walk(where.root) as walk, reading(walk.find(where.parts)) as file:
            return read_piece(file, offset, limit, wanted)
    except (OSError, AgentError) as error:
        if isinstance(error, AgentError) and error.code == CHANGED:
            raise
        raise AgentError(SYSTEM, "{!r} is not a file of this task any more".format(path)) from None


def _facts(path: str, status: os.stat_result) -> Answer:
    return {"path": path, "size": status.st_size, "mtime": status.st_mtime, "version": version(status)}


class _Search:
    """One walk through a working folder; each folder is open while its entries are examined."""

    def __init__(self, work: str, patterns: Sequence[Pattern]) -> None:
        self._work = work
        self._patterns = patterns
        self.skipped = self.too_deep = 0

    def files(self) -> Iterator[Tuple[str, os.stat_result]]:
        try:
            with Walk(self._work) as walk, listing(walk.fd) as fd:
                yield from self._below(fd, (), [pattern.start for pattern in self._patterns])
        except PermissionError:
            self.skipped += 1
        except OSError:
            return  # the task ended before it had a working folder

    def _below(self, fd: int, parts: Tuple[str, ...], above: List[States]) -> Iterator[Tuple[str, os.stat_result]]:
        for name in os.listdir(fd):
            if not parts and name.startswith(task_folder.SCRIPT_FILES):
                continue
            here = list(map(Pattern.step, self._patterns, above, repeat(name)))
            is_taken = any(map(Pattern.takes, self._patterns, above, here))
            if not is_taken and not any(here):
                continue
            try:
                mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    yield from self._inside(fd, (*parts, name), here)
                elif is_taken:
                    yield from self._file(fd, (*parts, name), mode)
            except PermissionError:
                self.skipped += 1  # the task took away its own permission
            except OSError:
                continue  # gone, or something else now

    def _inside(self, fd: int, parts: Tuple[str, ...], here: List[States]) -> Iterator[Tuple[str, os.stat_result]]:
        if not any(here):
            return
        if len(parts) >= MAX_DEPTH:
            self.too_deep += 1
            return
        with listing(fd, parts[-1]) as below:
            yield from self._below(below, parts, here)

    def _file(self, fd: int, parts: Tuple[str, ...], mode: int) -> Iterator[Tuple[str, os.stat_result]]:
        try:
            status = self._behind(parts) if stat.S_ISLNK(mode) else _status(parts[-1], fd)
        except AgentError as error:  # a device, a pipe, a link that leads out or to a folder: none of it is an output
            self.too_deep += error.code == TOO_DEEP
            return
        yield "/".join(parts), status

    def _behind(self, link: Tuple[str, ...]) -> os.stat_result:
        with Walk(self._work) as walk, reading(walk.find(link)) as file:
            return os.fstat(file)


def _status(name: str, folder: int) -> os.stat_result:
    with looking(name, folder) as fd, reading(fd) as file:
        return os.fstat(file)
