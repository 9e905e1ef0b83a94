"""Keeps account of what tasks use, from the first sample to the end.

The account of a task is in its folder, so that the next agent continues it. It is written every now and then while the
task runs, and once more with its end, when the kernel's own counters say what short tasks used, too: those of its
control group where there is one, and those of its processes. Those of a container are told when it ends, which is
before its engine's client does.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping

from muster.agent.system import disk
from muster.agent.system.group_counters import GroupCounts, counted
from muster.agent.tasks import containers, records, task_folder
from muster.agent.tasks.table import Task, TaskBook
from muster.agent.tasks.used_resources import (
    Counted,
    Used,
    from_json,
    of_devices,
    to_json,
    with_counted,
    with_end,
    with_sample,
)

_SAVE_EVERY_S = 30.0


class Accounting:
    def __init__(self, book: TaskBook) -> None:
        self._book = book
        self._open: Dict[str, Used] = {}
        self._saved_at: Dict[str, float] = {}

    def sampled(self, sample: Mapping[str, Any]) -> None:
        """Enters a sample of the node. Each task in it gets the sum so far as `used`."""
        for uid, usage in sample["tasks"].items():
            task = self._book.get(uid)
            if task is None or task.over:
                continue
            is_client = containers.is_contained(task) and not usage.get("in_container")  # the engine's was measured
            own = {} if is_client else usage
            used = with_sample(self._account(task), sample["at"], own, sample["node"]["gpus"])
            self._open[uid] = used
            usage["used"] = to_json(used)
            if sample["at"] - self._saved_at.get(uid, 0.0) >= _SAVE_EVERY_S:
                self._saved_at[uid] = sample["at"]
                _save(task, used)

    def container_ended(self, task: Task, counts: GroupCounts) -> None:
        used = with_counted(self._account(task), Counted(counts.cpu_s, counts.memory_bytes))
        self._open[task.uid] = used
        _save(task, used)

    def ended(self, task: Task) -> None:
        """Closes the account, while the task's control group still exists."""
        used = self._account(task)
        if not used.is_final and task.started_at is not None:
            used = with_end(used, _counted(task))
            _save(task, used)
        self._open.pop(task.uid, None)
        self._saved_at.pop(task.uid, None)
        task.used = to_json(used) if used.is_final else None

    def _account(self, task: Task) -> Used:
        if task.uid not in self._open:
            kept = disk.read_json(os.path.join(task.folder, task_folder.USED))
            found = None if kept is None else from_json(kept)
            self._open[task.uid] = _new(task) if found is None else found
        return self._open[task.uid]


def _new(task: Task) -> Used:
    facts = disk.read_json(os.path.join(task.folder, task_folder.FACTS)) or {}
    return of_devices(facts.get("devices") or ())


def _counted(task: Task) -> Counted:
    if containers.is_contained(task):
        return Counted()
    group = counted(task.groups)
    processes = records.read_rusage(task.folder)
    if processes is None:
        return Counted(group.cpu_s, group.memory_bytes)
    memory = max(processes.largest_bytes, group.memory_bytes or 0) or None
    return Counted(processes.cpu_s if group.cpu_s is None else group.cpu_s, memory)


def _save(task: Task, used: Used) -> None:
    try:
        disk.write_json(os.path.join(task.folder, task_folder.USED), to_json(used))
    except OSError:
        pass  # the disk is full or the folder gone; the task's end must be told all the same
