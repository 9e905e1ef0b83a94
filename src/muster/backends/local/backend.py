"""The local backend: it starts one agent, and restarts it when it dies. Tasks outlive both the agent and the server."""

import asyncio
import errno
import os
import stat
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import IO

from muster.agent.system.disk import read_json
from muster.agent.tasks.log_limits import dropped_of
from muster.agent.tasks.log_times import marks_of, read_marks
from muster.agent.tasks.task_folder import FACTS, LOG_TIMES, MASKED, OWN
from muster.backends.agents.agent_process import Streams, agent_process
from muster.backends.agents.connection import AgentNode
from muster.backends.agents.logs import AgentLogs
from muster.backends.agents.pool import AgentPool
from muster.backends.agents.task_data import AgentOf, PoolLogs
from muster.domain.clusters import PhysicalCluster
from muster.domain.dropped_bytes import DroppedBytes
from muster.domain.errors import BackendError
from muster.domain.log_times import LogTimes
from muster.domain.nodes import NodeState
from muster.ports.archives import Archives
from muster.ports.capabilities import TaskRef
from muster.ports.user_ids import UserIds, no_user_ids

_PASSED_ON = ("MUSTER_FAKE_GPUS",)
_PIECE_BYTES = 1 << 20
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SWITCHED_OFF = "the cluster is switched off in its file"


class LocalBackend(AgentPool):
    def __init__(
        self,
        cluster: str,
        node: str,
        root: Path,
        archives: Archives,
        epoch: int = 0,
        *,
        own_user: str = "",
        identity: str = "",
        log_bytes: int | None = None,
        user_ids: UserIds = no_user_ids,
    ) -> None:
        self._root = root
        self._epoch = epoch
        settings = PhysicalCluster(cluster, "local")
        super().__init__(
            settings, archives, own_user=own_user, identity=identity, log_bytes=log_bytes, user_ids=user_ids
        )
        agent = AgentNode(
            node,
            cluster,
            self._agent_process,
            address="127.0.0.1",
            on_push=self.pushed,
            on_change=self.changed,
            on_ready=self.ready,
        )
        self.add(agent)

    async def configure(self, settings: PhysicalCluster) -> None:
        await super().configure(settings)
        state, note = (NodeState.READY, "") if settings.is_enabled else (NodeState.DRAINING, _SWITCHED_OFF)
        for agent in self._nodes.values():
            if agent.connected_state is not state:
                agent.connected_state = state
                if agent.node.is_reachable:
                    agent.set_state(state, note)

    def _task_logs(self) -> PoolLogs:
        return LinkedLogs(self._agent, self._logs, self._root)

    def _agent_process(self) -> AbstractAsyncContextManager[Streams]:
        self._root.mkdir(parents=True, exist_ok=True)
        return agent_process("-m", "muster.agent", root=str(self._root), epoch=self._epoch, env=_environment())


class LinkedLogs(PoolLogs):
    """Logs on the server's own disk. They are collected as hard links, unless bytes are missing in them or the task was
    somebody else's: a process that has the log open could change a link to it after the end of the job."""

    def __init__(self, agent: AgentOf, logs: AgentLogs, root: Path) -> None:
        super().__init__(lambda task: agent(task.node), logs)
        self._root = root

    async def collect(self, task: TaskRef, target: Path) -> DroppedBytes | None:
        source = self._root / "tasks" / task.task_id / "log"
        if source.with_name(MASKED).exists():
            return await super().collect(task, target)  # the agent has not masked the secrets in the file yet
        try:
            if (dropped := _dropped(source, self._logs.most_collected)) is not None:
                await asyncio.to_thread(_copy, source, target, dropped)
                return dropped
            if not (read_json(str(source.with_name(FACTS))) or {}).get(OWN):
                await asyncio.to_thread(_copy_once, source, target)
                return None
            os.makedirs(target.parent, exist_ok=True)  # noqa: PTH103 - several times cheaper than Path.mkdir
            try:
                os.link(source, target, follow_symlinks=False)
            except FileExistsError:
                return None
            except FileNotFoundError:
                target.touch()
            except OSError:
                await asyncio.to_thread(_copy, source, target, None)
            if not stat.S_ISREG(target.lstat().st_mode):
                target.unlink()  # the task put something else in its log's place
                target.touch()
        except OSError as error:
            raise BackendError(f"cannot keep the log of {task.task_id}: {error}") from None
        return None

    async def times(self, task: TaskRef) -> LogTimes:
        return LogTimes.of(marks_of(read_marks(str(self._root / "tasks" / task.task_id / LOG_TIMES))))


def _dropped(source: Path, most: int) -> DroppedBytes | None:
    """The bytes that are missing in the log, which is a sparse file then and would grow when it is copied, and those of
    a log that is too long all the same."""
    try:
        descriptor = os.open(source, _READ_FLAGS)
    except OSError:
        return None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return None
        missing = DroppedBytes.reported(dropped_of(str(source.parent), descriptor))
        return DroppedBytes.beyond(most, info.st_size, missing)
    finally:
        os.close(descriptor)


def _copy_once(source: Path, target: Path) -> None:
    """A log that was collected before is not collected again: it may have been changed since."""
    if target.exists():
        return
    try:
        _copy(source, target, None)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            raise
        target.touch()  # the task put a link in its log's place, or removed it


def _copy(source: Path, target: Path, dropped: DroppedBytes | None) -> None:
    """Copy the whole log or nothing, and only if it is a file: the task may have replaced its log with a link."""
    partial = target.with_suffix(".partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(source, _READ_FLAGS)
    with os.fdopen(descriptor, "rb") as log, partial.open("wb") as copy:
        info = os.fstat(descriptor)
        if stat.S_ISREG(info.st_mode):
            if dropped is not None:
                _copy_bytes(log, copy, 0, dropped.start)
            _copy_bytes(log, copy, 0 if dropped is None else dropped.end, info.st_size)
    partial.replace(target)


def _copy_bytes(log: IO[bytes], copy: IO[bytes], start: int, end: int) -> None:
    """Bytes that are appended meanwhile are left out, so that a process that never stops to write does not keep us."""
    log.seek(start)
    while start < end and (data := log.read(min(_PIECE_BYTES, end - start))):
        copy.write(data)
        start += len(data)


def _environment() -> dict[str, str]:
    """The variables that tasks inherit through the agent. Muster's own settings may contain secrets, and are left
    out."""
    return {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_") or k in _PASSED_ON}
