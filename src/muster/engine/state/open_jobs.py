"""The open jobs in memory. They are always as the store has committed them."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.ports.backend import Observation
from muster.ports.capabilities import Unready


@dataclass(slots=True, eq=False)
class Entry:
    """One open job. A step holds its `lock` while it changes the job."""

    job: Job
    tasks: dict[str, Task] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    inbox: list[Observation] = field(default_factory=list)
    is_observing: bool = False
    is_gathering: bool = False
    launched: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while no launch is under way. A stop waits for it, so that it never overtakes the launch."""
    deadline: asyncio.TimerHandle | None = None
    preparing: "asyncio.Task[list[Unready]] | None" = None
    """The preparation of nodes, while it is under way. A stop cancels it, as nothing will be started."""
    avoid: frozenset[str] = frozenset()
    """Nodes on which the last attempt failed through a fault of the platform."""
    may_start: bool = True
    """False while it waits for other jobs."""
    tracking_urls: dict[str, str] = field(default_factory=dict)
    """The address at which each task says that the job can be followed."""

    def current_tasks(self) -> list[Task]:
        return sorted(self.tasks.values(), key=lambda task: task.rank)


class OpenJobs:
    """All open jobs, by id and by the jobs that they depend on."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._dependents: dict[str, set[str]] = {}
        self._owners: Counter[str] = Counter()
        self._members: dict[str, set[str]] = {}
        self.member_ended = asyncio.Event()
        """Set when a member of a sweep is open no longer."""

    def add(self, job: Job, tasks: Iterable[Task] = ()) -> Entry:
        entry = Entry(job, {task.id: task for task in tasks})
        entry.launched.set()
        if job.id not in self._entries:
            self._owners[job.owner] += 1
        self._entries[job.id] = entry
        if job.sweep:
            self._members.setdefault(job.sweep, set()).add(job.id)
        self._note_dependencies(job)
        return entry

    def respecify(self, entry: Entry, job: Job) -> None:
        """Give the job another spec."""
        self._forget_dependencies(entry.job)
        entry.job = job
        self._note_dependencies(job)

    def dependents(self, job_id: str) -> list[Entry]:
        """The open jobs that depend on this one, oldest first."""
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
        self._owners[entry.job.owner] -= 1
        if not self._owners[entry.job.owner]:
            del self._owners[entry.job.owner]
        if entry.job.sweep:
            self._forget_member(entry.job)
        self._forget_dependencies(entry.job)

    def count_of(self, owner: str) -> int:
        """The number of the owner's jobs that have not ended."""
        return self._owners[owner]

    def members_of(self, sweep: str) -> list[Entry]:
        """The members of a sweep that have not ended, in order of their numbers."""
        found = [self._entries[one] for one in self._members.get(sweep, ())]
        return sorted(found, key=lambda entry: entry.job.member)

    def count_members(self, sweep: str) -> int:
        return len(self._members.get(sweep, ()))

    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def tasks_on(self, cluster: str, node: str) -> list[Task]:
        """The tasks on a node that have not ended."""
        return [
            task
            for entry in self._entries.values()
            if entry.job.cluster == cluster
            for task in entry.tasks.values()
            if task.placement.node == node and not task.has_ended
        ]

    def tasks_by_node(self) -> dict[tuple[str, str], list[Task]]:
        """The tasks that have not ended, by cluster and node: one pass for all nodes together."""
        found: dict[tuple[str, str], list[Task]] = {}
        for entry in self._entries.values():
            for task in entry.tasks.values():
                if not task.has_ended:
                    found.setdefault((entry.job.cluster, task.placement.node), []).append(task)
        return found

    def __len__(self) -> int:
        return len(self._entries)

    def _forget_member(self, job: Job) -> None:
        members = self._members.get(job.sweep, set())
        members.discard(job.id)
        if not members:
            self._members.pop(job.sweep, None)
        self.member_ended.set()

    def _note_dependencies(self, job: Job) -> None:
        for dependency in job.spec.after:
            self._dependents.setdefault(dependency.job, set()).add(job.id)

    def _forget_dependencies(self, job: Job) -> None:
        for dependency in job.spec.after:
            waiting = self._dependents.get(dependency.job, set())
            waiting.discard(job.id)
            if not waiting:
                self._dependents.pop(dependency.job, None)
