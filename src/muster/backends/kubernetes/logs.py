"""The logs of tasks: while a task runs, its log is followed into a file of the server.

So it is complete whatever becomes of the pod: a deleted pod takes its log along, a node that fails never gives it back,
and of a long one Kubernetes keeps the end.
"""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from muster.backends.kubernetes.log_following import LOOK_AGAIN_S, LogFollower
from muster.backends.kubernetes.log_spool import LogSpool
from muster.backends.kubernetes.pod_state import MAIN, task_of
from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import NotFound, Unreachable
from muster.domain.log_times import LogTimes
from muster.kubernetes.connection import Connection
from muster.lib.file_tails import tail_offset
from muster.ports.capabilities import LogChunk, TaskRef

_REST_WAIT_S = 30.0
"""The time after a task's end for which readers wait for the rest of its log."""
_COPY_BYTES = 1 << 20


class PodLogs:
    """Implements `ports.capabilities.TaskLogs` and `TaskLogTimes`."""

    def __init__(self, folder: Path, log_bytes: int | None = None, look_again_s: float = LOOK_AGAIN_S) -> None:
        self._folder, self._log_bytes, self._look_again_s = folder, log_bytes, look_again_s
        self._spools: dict[str, LogSpool] = {}
        self._followers: dict[str, LogFollower] = {}
        self._following: dict[str, asyncio.Task[None]] = {}

    def seen(self, connection: Connection, pod: Mapping[str, Any]) -> None:
        """A pod of a task was observed: follow its log as soon as there is one."""
        task_id = task_of(pod)
        spool = self._spool(task_id)
        if task_id in self._followers or spool.is_complete.is_set() or not _has_log(pod):
            return
        follower = LogFollower(connection, pod, spool, self._look_again_s)
        self._followers[task_id] = follower
        self._following[task_id] = asyncio.create_task(follower.run(), name=f"log {task_id}")
        self._following[task_id].add_done_callback(lambda _: self._not_followed(task_id))

    def ended(self, task_id: str) -> None:
        """The task has ended. What is on its way is still taken. Without a pod that was seen, nothing is."""
        spool, follower = self._spool(task_id), self._followers.get(task_id)
        if not spool.has_ended.is_set():
            spool.has_ended.set()
            spool.rest_until = asyncio.get_running_loop().time() + _REST_WAIT_S
            if follower is not None:
                follower.expect_end()
        if follower is None and not spool.is_complete.is_set():
            spool.complete()

    def lost(self, task_id: str) -> None:
        """Nothing more will come: the node does not answer, or the pod is gone."""
        self._spool(task_id).has_ended.set()
        self._stop_following(task_id)
        self._spool(task_id).complete()

    async def read(self, task: TaskRef, offset: int, limit: int) -> LogChunk:
        spool = await self._readable(task.task_id)
        size, dropped = spool.size, spool.dropped
        most = min(limit, max(0, size - offset))
        if dropped is not None and offset < dropped.end:
            most = min(most, max(0, dropped.start - offset))
        data = await asyncio.to_thread(_read, spool.path, offset, most)
        is_over = spool.is_complete.is_set() and offset + len(data) >= size
        return LogChunk(data, offset, size, is_over, dropped)

    async def tail_offset(self, task: TaskRef, lines: int) -> int:
        spool = await self._readable(task.task_id)
        first = spool.dropped.end if spool.dropped is not None else 0
        found = await asyncio.to_thread(_tail, spool.path, spool.size, lines, first)
        return spool.dropped.start if spool.dropped is not None and found == first else found

    async def watch(self, task: TaskRef) -> AsyncGenerator[int]:
        spool = self._known(task.task_id)
        async for size in spool.growth():
            yield size

    async def collect(self, task: TaskRef, target: Path) -> DroppedBytes | None:
        if not self._known(task.task_id).has_ended.is_set():
            self.ended(task.task_id)  # which only the caller may know, as of a task whose pod is gone
        spool = await self._readable(task.task_id)
        dropped = spool.dropped
        await asyncio.to_thread(_copy, spool.path, spool.size, target, dropped)
        return dropped

    async def times(self, task: TaskRef) -> LogTimes:
        return self._known(task.task_id).times()

    def forget(self, task_id: str) -> None:
        self._stop_following(task_id)
        spool = self._spools.pop(task_id, None) or LogSpool(self._path(task_id), self._log_bytes)
        spool.remove()

    async def pause(self) -> None:
        """The connection is about to be closed. What is seen over the next one is followed on."""
        following = list(self._following.values())
        for one in following:
            one.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        for spool in self._spools.values():
            spool.close()

    async def close(self) -> None:
        await self.pause()
        self._spools.clear()

    def _path(self, task_id: str) -> Path:
        return self._folder / f"{task_id}.log"

    def _spool(self, task_id: str) -> LogSpool:
        found = self._spools.get(task_id)
        if found is None:
            found = self._spools[task_id] = LogSpool(self._path(task_id), self._log_bytes)
        return found

    def _known(self, task_id: str) -> LogSpool:
        if task_id not in self._spools and not self._path(task_id).exists():
            raise NotFound(f"there is no log of {task_id}")
        return self._spool(task_id)

    async def _readable(self, task_id: str) -> LogSpool:
        """The log, with all of it that an ended task has written."""
        spool = self._known(task_id)
        if spool.has_ended.is_set():
            try:
                async with asyncio.timeout_at(spool.rest_until):
                    await spool.is_complete.wait()
            except TimeoutError:
                raise Unreachable(f"the rest of the log of {task_id} has not come yet") from None
        return spool

    def _stop_following(self, task_id: str) -> None:
        if (following := self._following.get(task_id)) is not None:
            following.cancel()

    def _not_followed(self, task_id: str) -> None:
        del self._followers[task_id], self._following[task_id]


def _has_log(pod: Mapping[str, Any]) -> bool:
    for one in (pod.get("status") or {}).get("containerStatuses") or ():
        state = one.get("state") or {}
        if one.get("name") == MAIN and ("running" in state or "terminated" in state):
            return True
    return False


def _read(path: Path, offset: int, limit: int) -> bytes:
    if not limit:
        return b""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(limit)


def _tail(path: Path, size: int, lines: int, first: int) -> int:
    if not size:
        return 0
    with path.open("rb") as file:
        return tail_offset(file.fileno(), size, lines, first)


def _copy(path: Path, size: int, target: Path, dropped: DroppedBytes | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    with partial.open("wb") as written:
        if size:
            with path.open("rb") as file:
                if dropped is not None:
                    written.write(file.read(dropped.start))
                    file.seek(dropped.end)
                shutil.copyfileobj(file, written, _COPY_BYTES)
    partial.rename(target)
