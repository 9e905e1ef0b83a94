"""The logs of tasks: while a task runs, its log is followed into a file of the server.

So it is complete whatever becomes of the pod: a deleted pod takes its log along, a node that fails never gives it back,
and of a long one Kubernetes keeps the end.
"""

import asyncio
import shutil
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import structlog

from muster.agent.tasks.masking import Masks
from muster.backends.kubernetes.log_spool import LogSpool
from muster.backends.kubernetes.names import GANG, gang_name
from muster.backends.kubernetes.paddle_jobs import is_of_operator, own_name
from muster.backends.kubernetes.pod_state import MAIN, task_of
from muster.backends.kubernetes.pods import secret_key
from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import MusterError, NotFound, Unreachable
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Missing, Refused
from muster.kubernetes.resources import PODS, SECRETS, key_of, labels_of
from muster.lib.backoff import exponential
from muster.lib.file_tails import tail_offset
from muster.ports.capabilities import LogChunk, TaskRef

_log = structlog.get_logger("backends.kubernetes.logs")
_REST_WAIT_S = 30.0
"""How long a reader waits for the rest of the log of a task that has ended."""
_LOOK_AGAIN_S = 1.0
_COPY_BYTES = 1 << 20
_SILENCE_S = 20.0
"""How long the log of an ended task may bring nothing before no more of it is expected."""


class PodLogs:
    """Implements `ports.capabilities.TaskLogs`."""

    def __init__(self, folder: Path, log_bytes: int | None = None) -> None:
        self._folder, self._log_bytes = folder, log_bytes
        self._spools: dict[str, LogSpool] = {}
        self._followers: dict[str, asyncio.Task[None]] = {}

    def seen(self, connection: Connection, pod: Mapping[str, Any]) -> None:
        """A pod of a task was observed: follow its log as soon as there is one."""
        spool = self._spool(task_of(pod))
        if task_of(pod) in self._followers or spool.is_complete.is_set() or not _has_log(pod):
            return
        follower = asyncio.create_task(self._follow(connection, pod, spool), name=f"log {task_of(pod)}")
        self._followers[task_of(pod)] = follower
        follower.add_done_callback(lambda _: self._followers.pop(task_of(pod), None))

    def ended(self, task_id: str) -> None:
        """The task has ended. What is on its way is still taken."""
        spool = self._spool(task_id)
        if spool.has_ended.is_set():
            return
        spool.has_ended.set()
        if task_id not in self._followers:
            spool.complete()
        else:
            asyncio.get_running_loop().call_later(_SILENCE_S, self._give_up_silent, task_id, spool.size)

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
        spool = await self._readable(task.task_id)
        dropped = spool.dropped
        await asyncio.to_thread(_copy, spool.path, target, dropped)
        return dropped

    def forget(self, task_id: str) -> None:
        self._stop_following(task_id)
        spool = self._spools.pop(task_id, None) or LogSpool(self._path(task_id), self._log_bytes)
        spool.remove()

    async def close(self) -> None:
        followers = list(self._followers.values())
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        for spool in self._spools.values():
            spool.close()
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
                async with asyncio.timeout(_REST_WAIT_S):
                    await spool.is_complete.wait()
            except TimeoutError:
                raise Unreachable(f"the rest of the log of {task_id} has not come yet") from None
        return spool

    def _give_up_silent(self, task_id: str, size: int) -> None:
        spool = self._spools.get(task_id)
        if spool is None or spool.is_complete.is_set():
            return
        if spool.size == size:
            self.lost(task_id)
        else:
            asyncio.get_running_loop().call_later(_SILENCE_S, self._give_up_silent, task_id, spool.size)

    def _stop_following(self, task_id: str) -> None:
        if (follower := self._followers.get(task_id)) is not None:
            follower.cancel()

    async def _follow(self, connection: Connection, pod: Mapping[str, Any], spool: LogSpool) -> None:
        """Read the log until the task has ended and a reading that began after that has come to its end."""
        failures = 0
        while True:
            is_last = spool.has_ended.is_set()
            try:
                spool.masks = await _masks(connection, pod)
                await self._read_rest(connection, pod, spool)
                failures = 0
            except Missing:
                break  # the pod is gone, and its log with it
            except Refused as error:
                if is_last:
                    _log.info("no log", task=task_of(pod), error=str(error))
                    break  # such as a container that never started
            except MusterError as error:
                failures += 1
                _log.info("log interrupted", task=task_of(pod), error=str(error))
                is_last = False
            if is_last:
                break
            await _until_set(spool.has_ended, exponential(failures, first_s=_LOOK_AGAIN_S, limit_s=10.0))
        spool.complete()

    async def _read_rest(self, connection: Connection, pod: Mapping[str, Any], spool: LogSpool) -> None:
        namespace, name = key_of(pod)
        params = {"container": MAIN, "follow": "true", "timestamps": "true"}
        if spool.since:
            params["sinceTime"] = spool.since
        spool.begin()
        async with connection.streaming(PODS.path(namespace, name, "log"), params) as chunks:
            async for chunk in chunks:
                spool.feed(chunk)
        spool.end()


def _has_log(pod: Mapping[str, Any]) -> bool:
    for one in (pod.get("status") or {}).get("containerStatuses") or ():
        state = one.get("state") or {}
        if one.get("name") == MAIN and ("running" in state or "terminated" in state):
            return True
    return False


async def _masks(connection: Connection, pod: Mapping[str, Any]) -> Masks:
    """What must not be read in the log: the values of the secrets that the pod was given."""
    if not _has_secrets(pod):
        return Masks(())
    gang = labels_of(pod)[GANG]
    name = own_name(gang) if is_of_operator(pod) else gang_name(gang)
    secret = await connection.get(SECRETS, name, key_of(pod)[0])
    data = secret.get("data") or {}
    return Masks(b64decode(value) for key, value in data.items() if key.startswith(secret_key("")))


def _has_secrets(pod: Mapping[str, Any]) -> bool:
    spec = pod.get("spec") or {}
    names = [
        str(((variable.get("valueFrom") or {}).get("secretKeyRef") or {}).get("key", ""))
        for container in spec.get("containers") or ()
        for variable in container.get("env") or ()
    ]
    names += [
        str(item.get("key", ""))
        for volume in spec.get("volumes") or ()
        for item in (volume.get("secret") or {}).get("items") or ()
    ]
    return any(name.startswith(secret_key("")) for name in names)


async def _until_set(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


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


def _copy(path: Path, target: Path, dropped: DroppedBytes | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    with partial.open("wb") as written:
        if path.exists():
            with path.open("rb") as file:
                if dropped is not None:
                    written.write(file.read(dropped.start))
                    file.seek(dropped.end)
                shutil.copyfileobj(file, written, _COPY_BYTES)
    partial.rename(target)
