"""The open jobs in memory: what is committed, and nothing that is not."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from muster.domain.jobs import Job
from muster.domain.tasks import Task
from muster.ports.backend import Observation


@dataclass(slots=True, eq=False)
class Entry:
    """One open job. Whoever changes it holds its `turn` while doing so."""

    job: Job
    tasks: dict[str, Task] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    inbox: list[Observation] = field(default_factory=list)
    is_observing: bool = False
    is_gathering: bool = False
    launched: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while no launch is under way: a stop waits for it, so that it never overtakes the start."""
    deadline: asyncio.TimerHandle | None = None

    def current_tasks(self) -> list[Task]:
        return sorted(self.tasks.values(), key=lambda task: task.rank)


class Roster:
    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def add(self, job: Job, tasks: Iterable[Task] = ()) -> Entry:
        entry = Entry(job, {task.id: task for task in tasks})
        entry.launched.set()
        self._entries[job.id] = entry
        return entry

    def get(self, job_id: str) -> Entry | None:
        return self._entries.get(job_id)

    def remove(self, job_id: str) -> None:
        entry = self._entries.pop(job_id, None)
        if entry is not None and entry.deadline is not None:
            entry.deadline.cancel()

    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)
