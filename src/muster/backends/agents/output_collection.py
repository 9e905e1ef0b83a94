"""Collects the outputs of tasks from their nodes to the server, file by file, by `piece_transfer`.

A file that has arrived in part is continued when it is asked for again, unless it has changed since. The node is not
trusted about names: none leads out of the target folder.
"""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from muster.agent.files.file_errors import CHANGED
from muster.agent.system.frames import Message
from muster.backends.agents.flow_control import Pace, patiently
from muster.backends.agents.piece_transfer import AskNode, fetch
from muster.domain.errors import BackendError
from muster.lib.partial_files import PartialFile, digest_of
from muster.ports.capabilities import Collected, OutputFile

PARTIAL = ".partial"
_NAME_BYTES = 255
_PATH_BYTES = 4096


class OutputCollection:
    def __init__(self, ask: AskNode, pace: Callable[[str], Pace]) -> None:
        self._ask = ask
        self._pace = pace

    async def collect(
        self, task_id: str, node: str, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        """Put the files into `target`. What has arrived of a file in part is in a folder next to it, named after it."""
        files: list[OutputFile] = []
        left_out: list[str] = []
        after = ""
        while True:
            page = await self._ask(node, "outputs_list", task=task_id, patterns=list(patterns), after=after)
            for found in page["files"]:
                path = str(found["path"])
                if not is_safe(path) or not admit(int(found["size"])):
                    left_out.append(path)
                else:
                    files.append(await self._file(task_id, node, target, found))
                after = path
            if not page["more"] or not page["files"]:
                return Collected(tuple(files), tuple(left_out), int(page["skipped"]), int(page["too_deep"]))

    async def _file(self, task_id: str, node: str, target: Path, found: Message) -> OutputFile:
        path, size, mtime = str(found["path"]), int(found["size"]), float(found["mtime"])
        whole = target / path
        try:
            digest = await asyncio.to_thread(_known_digest, whole, size, mtime)
            if digest is None:
                with PartialFile(_partial(target, found), size) as file:
                    await self._fetch(task_id, node, found, file)
                    digest = await asyncio.to_thread(file.commit, whole, "", mtime)
        except OSError as error:
            raise BackendError(f"cannot keep the output {path}: {error.strerror or error}") from None
        return OutputFile(path, size, mtime, digest)

    async def _fetch(self, task_id: str, node: str, found: Message, file: PartialFile) -> None:
        path, size = str(found["path"]), int(found["size"])
        read = partial(self._ask, node, "outputs_read", task=task_id, path=path, version=found["version"])
        changed = BackendError(f"the output {path} changed while it was read")
        try:
            await patiently(lambda: fetch(read, file.size, size, self._pace(node), file.append), lambda: file.size)
        except BackendError as error:
            if error.reason == CHANGED:
                raise changed from None
            raise
        if file.size != size:
            raise changed


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


def _partial(target: Path, found: Message) -> Path:
    """The name has the version of the file in it: a file that has changed begins again."""
    name = hashlib.sha256(f"{found['path']}\0{found['version']}".encode()).hexdigest()
    return target.with_name(target.name + PARTIAL) / name


def _known_digest(whole: Path, size: int, mtime: float) -> str | None:
    """The digest of the file that an earlier attempt collected, if it is the same file."""
    try:
        status = whole.lstat()
    except OSError:
        return None
    if status.st_size != size or abs(status.st_mtime - mtime) >= 1e-3:
        return None
    with whole.open("rb") as file:
        return str(digest_of(file)[1].hexdigest())
