"""How long the logs of running tasks are. One watch of a log serves all readers, and lasts while somebody reads it."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from muster.domain.errors import MusterError
from muster.domain.tasks import Task
from muster.server.live.messages import message
from muster.server.services import Services

_FIRST_RETRY_S = 0.1
_LAST_RETRY_S = 2.0


@dataclass(frozen=True, slots=True)
class WantedLogs:
    """The logs of a job, or the one of a worker such as `worker-0`."""

    job_id: str
    worker: str | None = None

    def has(self, task: Task) -> bool:
        return self.worker is None or self.worker == f"{task.role}-{task.index}"


@dataclass(frozen=True, slots=True)
class LogSize:
    """`size` is None before the task has printed anything."""

    size: int | None = None
    is_over: bool = False


@dataclass(slots=True)
class ToldLogs:
    """What a reader was told last: by task, and of all of them."""

    sizes: dict[str, LogSize] = field(default_factory=dict)
    is_running: bool | None = None


@dataclass(slots=True, eq=False)
class _Watch:
    task: Task
    now: LogSize = field(default_factory=LogSize)
    work: "asyncio.Task[None] | None" = None

    def stop(self) -> None:
        if self.work is not None:
            self.work.cancel()
            self.work = None


class LogGrowth:
    """`grown` is called whenever there is something to tell."""

    def __init__(self, parts: Services, grown: Callable[[], None]) -> None:
        self._parts = parts
        self._grown = grown
        self._watches: dict[str, dict[str, _Watch]] = {}
        """The watches of logs, by job and task."""

    def watch(self, wanted: Iterable[WantedLogs]) -> None:
        """Watch just these logs from now on. Tasks that have ended since are over, and new ones are watched."""
        by_job: dict[str, list[WantedLogs]] = {}
        for one in wanted:
            by_job.setdefault(one.job_id, []).append(one)
        for job_id in self._watches.keys() - by_job.keys():
            _stop(self._watches.pop(job_id).values())
        for job_id, logs in by_job.items():
            self._watch_job(self._watches.setdefault(job_id, {}), self._running(job_id), logs)

    def message(self, wanted: WantedLogs, told: ToldLogs) -> bytes | None:
        """The message `logs` with what the reader has not been told yet, which is then noted in `told`."""
        watches = [watch for watch in self._watches.get(wanted.job_id, {}).values() if wanted.has(watch.task)]
        news = [watch for watch in watches if told.sizes.get(watch.task.id, LogSize()) != watch.now]
        is_running = any(not watch.now.is_over for watch in watches)
        if not news and is_running == told.is_running:
            return None
        told.sizes.update({watch.task.id: watch.now for watch in news})
        told.is_running = is_running
        logs = [_view(watch) for watch in news]
        return message("logs", {"id": wanted.job_id, "worker": wanted.worker, "isRunning": is_running, "logs": logs})

    def close(self) -> None:
        for watches in self._watches.values():
            _stop(watches.values())
        self._watches.clear()

    def _running(self, job_id: str) -> Mapping[str, Task]:
        entry = self._parts.context.open_jobs.get(job_id)
        return {} if entry is None else {task.id: task for task in entry.current_tasks() if not task.has_ended}

    def _watch_job(self, watches: dict[str, _Watch], running: Mapping[str, Task], logs: list[WantedLogs]) -> None:
        for task_id, watch in watches.items():
            if task_id not in running and not watch.now.is_over:
                watch.stop()
                watch.now = LogSize(watch.now.size, is_over=True)
        for task_id, task in running.items():
            if task_id not in watches and any(one.has(task) for one in logs):
                watches[task_id] = watch = _Watch(task)
                watch.work = asyncio.create_task(self._follow(watch), name=f"watching the log of {task.name}")

    async def _follow(self, watch: _Watch) -> None:
        """A log that is not there yet, or whose node does not answer, is tried until its task has ended."""
        pause_s = _FIRST_RETRY_S
        while (entry := self._parts.context.open_jobs.get(watch.task.job_id)) is not None:
            try:
                async with aclosing(self._parts.logs.sizes(watch.task, entry.job.cluster)) as sizes:
                    async for size in sizes:
                        watch.now = LogSize(size)
                        self._grown()
                watch.now = LogSize(watch.now.size, is_over=True)
                self._grown()
                return
            except MusterError:
                await asyncio.sleep(pause_s)
                pause_s = min(_LAST_RETRY_S, 2 * pause_s)


def _stop(watches: Iterable[_Watch]) -> None:
    for watch in watches:
        watch.stop()


def _view(watch: _Watch) -> dict[str, object]:
    task, now = watch.task, watch.now
    worker = f"{task.role}-{task.index}"
    return {"worker": worker, "attempt": task.attempt, "sizeBytes": now.size or 0, "isOver": now.is_over}
