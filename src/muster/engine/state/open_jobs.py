"""The open jobs in memory: what is committed, and nothing that is not."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.ports.backend import Observation
from muster.ports.capabilities import Unready


@dataclass(slots=True, eq=False)
class Entry:
    """One open job. Whoever changes it holds its `turn` while doing so."""

    job: Job
    tasks: dict[str, Task] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    inbox: list[Observation] = field(default_factory=list)
    is_observing: bool = False
    is_gathering: bool = False
    launched: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while no launch is under way: a stop waits for it, so that it never overtakes the start."""
    deadline: asyncio.TimerHandle | None = None
    preparing: "asyncio.Task[list[Unready]] | None" = None
    """Under way: a stop need not wait until the nodes have what nobody will start."""
    avoid: frozenset[str] = frozenset()
    """Nodes on which the last try failed for reasons of their own."""
    may_start: bool = True
    """False while it waits for other jobs."""

    def current_tasks(self) -> list[Task]:
        return sorted(self.tasks.values(), key=lambda task: task.rank)


class OpenJobs:
    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._dependents: dict[str, set[str]] = {}

    def add(self, job: Job, tasks: Iterable[Task] = ()) -> Entry:
        entry = Entry(job, {task.id: task for task in tasks})
        entry.launched.set()
        self._entries[job.id] = entry
        self._note_dependencies(job)
        return entry

    def respecify(self, entry: Entry, job: Job) -> None:
        """The same job with another spec."""
        self._forget_dependencies(entry.job)
        entry.job = job
        self._note_dependencies(job)

    def dependents(self, job_id: str) -> list[Entry]:
        """Open jobs that named this one, oldest first."""
        found = [self._entries[one] for one in self._dependents.get(job_id, ()) if one in self._entries]
        return sorted(found, key=lambda entry: (entry.job.created_at, entry.job.id))

    def get(self, job_id: str) -> Entry | None:
        return self._entries.get(job_id)

    def remove(self, job_id: str) -> None:
        entry = self._entries.pop(job_id, None)
        if entry is None:
            return
        if entry.deadline is not None:
            entry.deadline.cancel()
        self._forget_dependencies(entry.job)

    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def tasks_on(self, cluster: str, node: str) -> list[Task]:
        """Those that have not ended."""
        return [
            task
            for entry in self._entries.values()
            if entry.job.cluster == cluster
            for task in entry.tasks.values()
            if task.placement.node == node and not task.has_ended
        ]

    def __len__(self) -> int:
        return len(self._entries)

    def _note_dependencies(self, job: Job) -> None:
        for dependency in job.spec.after:
            self._dependents.setdefault(dependency.job, set()).add(job.id)

    def _forget_dependencies(self, job: Job) -> None:
        for dependency in job.spec.after:
            waiting = self._dependents.get(dependency.job, set())
            waiting.discard(job.id)
            if not waiting:
                self._dependents.pop(dependency.job, None)
