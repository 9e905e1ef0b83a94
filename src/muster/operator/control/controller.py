"""The shell of the operator: watches, asks the core what to do, and does it.

It is level-triggered: a change only puts the job's key into the work queue, and a look at the job starts from what
exists. Looks at different jobs run concurrently, looks at one job never do.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, NoReturn

import structlog

from muster.domain.errors import MusterError
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Missing, Outdated
from muster.kubernetes.resources import PADDLE_JOBS, Key, uid_of
from muster.lib.backoff import exponential
from muster.lib.clock import Clock
from muster.operator.control.caches import Caches
from muster.operator.control.event_recording import EventRecorder
from muster.operator.control.executing import Executor, Held
from muster.operator.control.gang_scheduling import GangScheduling
from muster.operator.control.memory import JobMemory, UnknownFields
from muster.operator.control.metrics import Metrics
from muster.operator.control.observing import Observer
from muster.operator.control.work_queue import WorkQueue
from muster.operator.control.writer import Writer
from muster.operator.job.paddle_job import PaddleJob, read_job
from muster.operator.job.ports import PortRange
from muster.operator.planning.plans import JobEvent, Plan
from muster.operator.planning.reconcile import plan
from muster.operator.planning.status import is_urgent, status_patch
from muster.operator.scheduling.gangs import is_over

_log = structlog.get_logger("operator.controller")
_WORKERS = 16
_ROUNDS = 5
"""How often in one look the core may ask for more. What is left is done in the next."""
_LEISURE_S, _MOST_LEISURE_S = 10.0, 60.0
"""How old a status is before a mere change of its counts is written. It doubles, so that a slow start costs little."""
_FIRST_RETRY_S, _LONGEST_RETRY_S = 1.0, 300.0
_FIRST_REFUSAL_S, _LONGEST_REFUSAL_S = 2.0, 60.0
_QUOTA_S = 1.0
"""How long Kubernetes may take to count a pod out of a quota."""
_TRIED_AGAIN = 20
"""How many refused jobs try again when a pod of their namespace is gone."""
_PORTS_RETRY_S = 30.0
_TERMINATING = "because it is being terminated"
"""The API server's words about a namespace that is being deleted. The job in it is deleted next."""


@dataclass(frozen=True, slots=True)
class Options:
    namespace: str | None = None
    init_image: str = ""
    ports: PortRange = field(default_factory=PortRange)


class Controller:
    def __init__(
        self, connection: Connection, options: Options, scheduling: GangScheduling, metrics: Metrics, clock: Clock
    ) -> None:
        self._options, self._scheduling, self._metrics, self._clock = options, scheduling, metrics, clock
        self._queue = WorkQueue()
        self.caches = Caches(connection, options.namespace, self._queue.add, self._pod_left, scheduling)
        self._writer = Writer(connection, metrics)
        self._executor = Executor(connection, self._writer, self.caches, clock)
        self._events = EventRecorder(self._writer, clock)
        self._memories: dict[Key, JobMemory] = {}
        self._refused: set[Key] = set()
        """The jobs whose pods the API server refused, for example because a quota is exhausted."""
        self._observer = Observer(self.caches, options.ports, self._executor.is_deleted, clock)
        self._unknown_fields = UnknownFields()
        self.is_synced = False
        """Whether everything is known that jobs depend on, including what gang scheduling watches."""

    async def run(self) -> NoReturn:
        async with asyncio.TaskGroup() as tasks:
            for cache in self.caches.all:
                tasks.create_task(cache.run())
            for cache in self.caches.all:
                await cache.synced.wait()
            await self._scheduling.start(tasks, self._queue.add)
            self.is_synced = True
            _log.info("synced", jobs=len(self.caches.jobs), pods=len(self.caches.pods))
            for _ in range(_WORKERS):
                tasks.create_task(self._work())
        raise AssertionError("the loops of the controller do not end")

    async def _work(self) -> NoReturn:
        while True:
            key = await self._queue.take()
            self._metrics.waiting.set(len(self._queue))
            try:
                with self._metrics.reconcile_seconds.time():
                    await self._look_at(key)
            finally:
                self._queue.done(key)

    async def _look_at(self, key: Key) -> None:
        """One look at a job. Whatever goes wrong concerns this job alone, and is tried again."""
        memory = self._memories.setdefault(key, JobMemory())
        try:
            await self._reconcile(key, memory)
        except (Missing, Outdated):
            self._retry(key, memory, "changed", limit_s=5.0)
        except MusterError as error:
            _log.warning("look at a job failed", job=_text(key), error=str(error))
            self._retry(key, memory, "failed", limit_s=60.0)
        except Exception:
            _log.exception("look at a job failed", job=_text(key))
            self._retry(key, memory, "failed", limit_s=_LONGEST_RETRY_S)
        else:
            memory.failures = 0 if not memory.refusal and not memory.foreign else memory.failures
            self._metrics.reconciles.labels("done").inc()

    def _retry(self, key: Key, memory: JobMemory, result: str, *, limit_s: float) -> None:
        memory.failures += 1
        self._metrics.reconciles.labels(result).inc()
        self._queue.add_after(key, exponential(memory.failures, first_s=_FIRST_RETRY_S, limit_s=limit_s))

    async def _reconcile(self, key: Key, memory: JobMemory) -> None:
        if self.caches.jobs.get(key) is None:
            self._forget(key)
            return
        self._release_held_names(memory)
        events: list[JobEvent] = []
        for _ in range(_ROUNDS):
            raw = self.caches.jobs.get(key)
            if raw is None or self._executor.is_deleted(uid_of(raw)):
                return
            job = read_job(raw)
            planned = self._plan(job, memory)
            if planned.has_actions:
                is_held = await self._execute(key, job, memory, planned)
                if not is_held:
                    _tell(job, planned)
                events += [event for event in planned.events if event not in events and not is_held]
                continue
            events += [event for event in planned.events if event not in events]
            break
        await self._conclude(key, job, memory, planned, events)

    def _plan(self, job: PaddleJob, memory: JobMemory) -> Plan:
        now, world = self._clock(), self._observer.world(job, memory)
        if world.is_held and now >= memory.retry_at:  # not refused: no ports are left
            self._queue.add_after((job.namespace, job.name), _PORTS_RETRY_S)
        return plan(job, world, now, self._scheduling.schedule, init_image=self._options.init_image)

    async def _execute(self, key: Key, job: PaddleJob, memory: JobMemory, planned: Plan) -> bool:
        """Returns whether something was refused, or its name belongs to somebody else."""
        try:
            await self._executor.run(job, memory, planned.stages)
        except Held as error:
            memory.failures += 1
            pause = exponential(memory.failures, first_s=_FIRST_REFUSAL_S, limit_s=_LONGEST_REFUSAL_S)
            memory.retry_at = self._clock() + pause
            memory.refusal = "" if _TERMINATING in str(error) else str(error)
            self._refused.add(key)
            self._queue.add_after(key, pause)
            return True
        if planned.creates and not memory.foreign:
            memory.refusal, memory.failures = "", 0
            self._refused.discard(key)
        return bool(memory.foreign)

    def _pod_left(self, namespace: str) -> None:
        """The namespace's quota will have room in a moment. The refused jobs try one after another, in the guard's
        order: if all did at once, none might get all its pods."""
        jobs = [read_job(raw) for key in self._refused if key[0] == namespace and (raw := self.caches.jobs.get(key))]
        waiting = sorted((job for job in jobs if not is_over(job)), key=lambda job: (job.created_at, job.name))
        for place, job in enumerate(waiting[:_TRIED_AGAIN], start=1):
            key, pause = (job.namespace, job.name), place * _QUOTA_S
            memory = self._memories[key]
            memory.failures, memory.retry_at = 0, min(memory.retry_at, self._clock() + pause)
            self._queue.add_after(key, pause)

    def _release_held_names(self, memory: JobMemory) -> None:
        """Names of somebody else are tried again now and then."""
        if memory.foreign and self._clock() >= memory.retry_at:
            memory.foreign.clear()

    async def _conclude(
        self, key: Key, job: PaddleJob, memory: JobMemory, planned: Plan, events: list[JobEvent]
    ) -> None:
        now = self._clock()
        if planned.status is not None:
            try:
                if await self._write_status(key, job, memory, planned.status, now) and not planned.has_actions:
                    _tell(job, planned)
            except Outdated:  # somebody changed the job: what happened is reported nevertheless
                self._queue.add_after(key, _FIRST_RETRY_S)
        for event in events:
            await self._events.record(job, event)
        if planned.wake_at is not None:
            self._queue.add_after(key, planned.wake_at - now)
        if now < memory.retry_at:
            self._queue.add_after(key, memory.retry_at - now)  # a look in between has taken the timer's place
        elif planned.has_actions:
            self._queue.add_after(key, _FIRST_RETRY_S)
        if memory.foreign and now >= memory.retry_at:
            memory.failures += 1
            pause = exponential(memory.failures, first_s=5.0, limit_s=60.0)
            memory.retry_at = now + pause
            self._queue.add_after(key, pause)

    async def _write_status(self, key: Key, job: PaddleJob, memory: JobMemory, wanted: Any, now: float) -> bool:
        """Returns whether it was written: it is not if nothing changed, or too little for now."""
        after = self._unknown_fields.without(wanted)
        if after == job.status:
            return False
        urgent = is_urgent(job.status, after)
        due = memory.status_at + exponential(memory.leisurely + 1, first_s=_LEISURE_S, limit_s=_MOST_LEISURE_S)
        if not urgent and now < due:
            self._queue.add_after(key, due - now)
            return False
        changed = status_patch(job.status, after)
        version = job.raw["metadata"]["resourceVersion"]
        made = await self._writer.patch(
            PADDLE_JOBS,
            job.name,
            {"metadata": {"resourceVersion": version}, "status": changed},
            job.namespace,
            subresource="status",
        )
        memory.status_at, memory.leisurely = now, 0 if urgent else memory.leisurely + 1
        self._unknown_fields.learn(changed, made.get("status") or {})
        self.caches.jobs.remember(made)
        return True

    def _forget(self, key: Key) -> None:
        self._memories.pop(key, None)
        self._refused.discard(key)
        self._queue.forget(key)
        self._observer.forget(key)


def _tell(job: PaddleJob, planned: Plan) -> None:
    for line in planned.log:
        _log.info(line.text, job=f"{job.namespace}/{job.name}", uid=job.uid, **line.details)


def _text(key: Key) -> str:
    return "/".join(key)
