"""Brings what tasks left on their nodes to the server, file by file, over the agents' lines.

A file that has come half is gone on with when asked again, unless it has changed since. The node's word is not trusted
about names: none leads out of the target folder.
"""

import asyncio
import functools
import hashlib
import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from muster.agent.system.frames import Message
from muster.backends.agents.archive_transfer import Ask
from muster.backends.agents.flow_control import Pace
from muster.domain.errors import BackendError
from muster.ports.backend import Collected, OutputFile

PARTIAL = ".partial"
_NAME_BYTES = 255
_PATH_BYTES = 4096


class Collecting:
    def __init__(self, ask: Ask, pace: Callable[[str], Pace]) -> None:
        self._ask = ask
        self._pace = pace

    async def collect(
        self, task_id: str, node: str, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        """`target` gets the files; a folder beside it, named after it, what has come half."""
        files: list[OutputFile] = []
        left_out: list[str] = []
        after = ""
        while True:
            page = await self._ask(node, "outputs_list", task=task_id, patterns=list(patterns), after=after)
            for found in page["files"]:
                path, size = str(found["path"]), int(found["size"])
                if not is_safe(path) or not admit(size):
                    left_out.append(path)
                else:
                    files.append(await self._fetch(task_id, node, target, path, size, float(found["mtime"])))
                after = path
            if not page["more"] or not page["files"]:
                return Collected(tuple(files), tuple(left_out), int(page["skipped"]), int(page["too_deep"]))

    async def _fetch(self, task_id: str, node: str, target: Path, path: str, size: int, mtime: float) -> OutputFile:
        whole = target / path
        try:
            known = await asyncio.to_thread(_same, whole, size, mtime)
            if known is not None:
                return OutputFile(path, size, mtime, known)
            partial = _partial(target, path, size, mtime)
            await self._continue(task_id, node, path, size, mtime, partial)
            digest = await asyncio.to_thread(_keep, partial, whole, mtime)
        except OSError as error:
            raise BackendError(f"cannot keep the output {path}: {error.strerror or error}") from None
        return OutputFile(path, size, mtime, digest)

    async def _continue(self, task_id: str, node: str, path: str, size: int, mtime: float, partial: Path) -> None:
        with partial.open("ab") as file:
            position = file.tell()
            if position > size:
                file.truncate(0)
                position = 0
            pace, asked = self._pace(node), position
            pieces: deque[tuple[int, asyncio.Future[Message]]] = deque()
            try:
                while position < size:
                    while asked < size and asked + pace.piece <= position + pace.window:
                        limit = min(pace.piece, size - asked)
                        ask = functools.partial(
                            self._ask, node, "outputs_read", task=task_id, path=path, offset=asked, limit=limit
                        )
                        pieces.append((limit, asyncio.ensure_future(pace.timed(limit, ask))))
                        asked += limit
                    wanted, coming = pieces.popleft()
                    answer = await coming
                    data = answer["data"]
                    if len(data) < wanted or float(answer["mtime"]) != mtime:
                        raise BackendError(f"the output {path} changed while it was read")
                    await asyncio.to_thread(file.write, data)
                    position += len(data)
            finally:
                left = [coming for _, coming in pieces]
                for piece in left:
                    piece.cancel()
                await asyncio.gather(*left, return_exceptions=True)


def is_safe(path: str) -> bool:
    """Whether this name, from a node, stays below the folder that it is put in."""
    parts = path.split("/")
    try:
        encoded = [part.encode("utf-8") for part in parts]
    except UnicodeEncodeError:
        return False
    return (
        "\0" not in path
        and len(path.encode("utf-8")) <= _PATH_BYTES
        and all(part not in ("", ".", "..") for part in parts)
        and all(len(part) <= _NAME_BYTES for part in encoded)
    )


def _partial(target: Path, path: str, size: int, mtime: float) -> Path:
    """Named by what the file is now: one that has changed begins anew."""
    name = hashlib.sha256(f"{path}\0{size}\0{mtime!r}".encode()).hexdigest()
    folder = target.with_name(target.name + PARTIAL)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def _same(whole: Path, size: int, mtime: float) -> str | None:
    """The digest of what an earlier try brought, if it is the same file."""
    try:
        status = whole.lstat()
    except OSError:
        return None
    return _digest(whole) if status.st_size == size and abs(status.st_mtime - mtime) < 1e-3 else None


def _keep(partial: Path, whole: Path, mtime: float) -> str:
    whole.parent.mkdir(parents=True, exist_ok=True)
    digest = _digest(partial)
    os.utime(partial, (mtime, mtime))
    partial.replace(whole)
    return digest


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
