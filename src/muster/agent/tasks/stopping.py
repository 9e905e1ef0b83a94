"""Stops tasks: SIGTERM to the process group, grace, then SIGKILL to all of the task.

The supervisor that a task of an older agent has is spared, so that it can record how the command ended; only when it
does not get there within another second is it killed too. A task that nobody has claimed yet is claimed here, and so
never starts.
"""

from __future__ import annotations

import signal
import time
from typing import Callable, List, Optional

from muster.agent.system.loop import Loop
from muster.agent.system.processes import find_members, is_alive, kill_all, send, send_group
from muster.agent.tasks import cgroups, records
from muster.agent.tasks.table import PREPARING, Task
from muster.agent.tasks.task_exit import Settling

_KILL_EVERY_S = 0.1
_SUPERVISOR_GRACE_S = 1.0


class Stopping:
    def __init__(self, loop: Loop, settling: Settling, current_boot: str) -> None:
        self._loop = loop
        self._settling = settling
        self._boot = current_boot
        self.on_terminate: List[Callable[[Task], None]] = []
        self.on_kill: List[Callable[[Task], None]] = []
        settling.on_running.append(self._stop_if_asked)

    def stop(self, task: Task, grace_s: float) -> None:
        if task.over:
            return
        deadline = time.time() + grace_s
        if task.stop_deadline is not None and task.stop_deadline <= deadline:
            return
        first = task.stop_deadline is None
        task.stopped = True
        task.stop_deadline = deadline
        _remember(task, deadline)
        if task.phase == PREPARING and records.claim_for_stop(task.folder):
            self._settling.end(task, None, time.time())
            return
        if task.identity is None:
            return  # claimed a moment ago: its notice is on the way and brings us back
        if first and grace_s > 0:
            self._terminate(task)
        self._arm(task, grace_s)

    def resume(self, task: Task) -> None:
        """Take up a stop that an earlier agent had begun."""
        deadline = records.read_stop(task.folder)
        if deadline is not None:
            task.stopped = True
            task.stop_deadline = deadline

    def _stop_if_asked(self, task: Task) -> None:
        if task.stop_deadline is None:
            return
        grace_s = max(0.0, task.stop_deadline - time.time())
        if grace_s > 0:
            self._terminate(task)
        self._arm(task, grace_s)

    def _terminate(self, task: Task) -> None:
        if not self._is_ours(task):
            return
        assert task.pid is not None
        send_group(task.pid, signal.SIGTERM)
        for callback in self.on_terminate:
            callback(task)

    def _arm(self, task: Task, grace_s: float) -> None:
        if task.stop_timer is not None:
            task.stop_timer.cancel()
        if grace_s <= 0:
            self._kill(task, None)
        else:
            task.stop_timer = self._loop.call_later(grace_s, lambda: self._kill(task, None))

    def _kill(self, task: Task, since: Optional[float]) -> None:
        if task.over:
            return
        began = time.monotonic() if since is None else since
        pids = set(find_members([task.target], self._boot).get(task.uid, []))
        if task.has_supervisor:
            pids.update(cgroups.members(task.groups))
            pids.discard(task.pid or 0)
        else:
            cgroups.kill(task.groups)
        kill_all(pids)
        for callback in self.on_kill:
            callback(task)
        if time.monotonic() - began > _SUPERVISOR_GRACE_S and self._is_ours(task):
            assert task.pid is not None
            send(task.pid, signal.SIGKILL)
        task.stop_timer = self._loop.call_later(_KILL_EVERY_S, lambda: self._kill(task, began))

    def _is_ours(self, task: Task) -> bool:
        return task.identity is not None and is_alive(task.identity, self._boot)


def _remember(task: Task, deadline: float) -> None:
    """Records the deadline for the next agent, and for the shim, which kills what an ended command has left behind."""
    try:
        records.record_stop(task.folder, deadline)
    except OSError:
        pass  # the disk is full; stopping is what frees it
