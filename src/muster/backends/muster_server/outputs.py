"""Fetches the outputs of ended tasks from the other server, which collects them when the job there has ended."""

import asyncio
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from muster.backends.agents.output_collection import is_safe
from muster.backends.muster_server.answers import ToldOutputs, ToldSize
from muster.backends.muster_server.connection import OtherServer
from muster.backends.muster_server.logs import Find
from muster.domain.errors import BackendError
from muster.domain.output_patterns import matches
from muster.ports.capabilities import Collected, OutputFile, TaskRef

_COMPLETE_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.2
_FETCH_S = 60.0
_SLOWEST_BYTES_S = 16 << 10
"""What comes more slowly than this is given up."""


class OtherOutputs:
    """Implements `ports.capabilities.TaskOutputs`."""

    def __init__(self, server: OtherServer, find: Find) -> None:
        self._server, self._find = server, find

    async def collect(
        self, task: TaskRef, patterns: Sequence[str], target: Path, admit: Callable[[int], bool]
    ) -> Collected:
        job = await self._find(task)
        listing = await self._complete(job)
        worker = "-".join(task.task_id.rsplit(".", 2)[1:])
        is_alone = await self._is_alone(job)
        prefix = "" if is_alone else f"{worker}/"
        files: list[OutputFile] = []
        left_out: list[str] = [path.removeprefix(prefix) for path in listing.left_out if path.startswith(prefix)]
        for item in listing.items:
            path = item.path
            if not path.startswith(prefix) or not any(matches(one, path.removeprefix(prefix)) for one in patterns):
                continue
            own = path.removeprefix(prefix)
            place = _inside(target, own)
            file = OutputFile(own, item.size, item.modified_at, item.sha256)
            if not admit(file.size):
                left_out.append(own)
                continue
            if not await asyncio.to_thread(_is_there, place, file):
                await self._fetch(job, path, place, file)
            files.append(file)
        problems = [text for text in listing.problems if is_alone or worker in text]
        return Collected(tuple(files), tuple(left_out), problem="; ".join(problems))

    async def _complete(self, job: str) -> ToldOutputs:
        """The list of what the first attempt left. It may take a moment until all is collected there."""
        deadline = asyncio.get_running_loop().time() + _COMPLETE_WITHIN_S
        while True:
            listing = await self._server.get(ToldOutputs, f"/jobs/{job}/outputs", {"attempt": 1})
            if listing.complete:
                return listing
            if asyncio.get_running_loop().time() > deadline:
                why = "; ".join(listing.problems)
                raise BackendError(f"the other server has not collected all outputs yet{': ' + why if why else ''}")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _is_alone(self, job: str) -> bool:
        """Whether the job has one task: then paths do not begin with its name."""
        return (await self._server.get(ToldSize, f"/jobs/{job}")).tasks <= 1

    async def _fetch(self, job: str, path: str, place: Path, file: OutputFile) -> None:
        await asyncio.to_thread(place.parent.mkdir, parents=True, exist_ok=True)
        partial = place.with_name(f"{place.name}.partial")
        try:
            async with asyncio.timeout(_FETCH_S + file.size / _SLOWEST_BYTES_S):
                is_whole = await self._download(job, path, partial, file)
            if not is_whole:
                raise BackendError(f"the output {path} came with other bytes than it was listed with")
            os.utime(partial, (file.mtime, file.mtime))
            await asyncio.to_thread(partial.replace, place)
        finally:
            await asyncio.to_thread(partial.unlink, missing_ok=True)

    async def _download(self, job: str, path: str, partial: Path, file: OutputFile) -> bool:
        """Whether it is what was listed. More than that is not written."""
        digest, left = hashlib.sha256(), file.size
        with await asyncio.to_thread(partial.open, "wb") as written:
            async with self._server.download(f"/jobs/{job}/outputs/{quote(path)}", {"attempt": 1}) as download:
                async for piece in download.pieces():
                    left -= len(piece)
                    if left < 0:
                        return False
                    digest.update(piece)
                    await asyncio.to_thread(written.write, piece)
        return not left and digest.hexdigest() == file.sha256


def _inside(target: Path, path: str) -> Path:
    """The other server is believed no path that leads elsewhere."""
    if not is_safe(path):
        raise BackendError(f"the other server lists an output with the path {path!r}")
    return target / path


def _is_there(place: Path, file: OutputFile) -> bool:
    try:
        with place.open("rb") as found:
            return hashlib.file_digest(found, "sha256").hexdigest() == file.sha256
    except OSError:
        return False
