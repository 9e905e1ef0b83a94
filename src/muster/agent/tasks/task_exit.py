"""Decides what has become of a task, from its records and from whether its supervisor lives, and says so once.

The order of looking matters: first whether the supervisor lives, then whether there is an exit record. A supervisor
that was dead before we looked for the record had all the time it will ever have to write it.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, List, Optional

from muster.agent.errors import START_FAILED, AgentError
from muster.agent.system import disk
from muster.agent.system.process_exits import ExitWatch, reap
from muster.agent.system.processes import Identity, find_members, is_alive, kill_all, send_group
from muster.agent.tasks import cgroups, containers, records, task_folder
from muster.agent.tasks.stragglers import Stragglers
from muster.agent.tasks.survivors import Lingering
from muster.agent.tasks.table import ENDED, LOST, RUNNING, Task, TaskBook

_KILLED = 128 + signal.SIGKILL


class Settling:
    def __init__(self, book: TaskBook, exits: ExitWatch, stragglers: Stragglers, current_boot: str) -> None:
        self._book = book
        self._exits = exits
        self._stragglers = stragglers
        self._lingering = Lingering(exits, current_boot)
        self._boot = current_boot
        self.on_running: List[Callable[[Task], None]] = []

    def watch_child(self, task: Task, pid: int) -> None:
        task.pid = pid
        self._exits.child(pid, lambda: self._child_gone(task, pid))

    def supervisor_started(self, task: Task, identity: Identity) -> None:
        """The supervisor says that it has claimed the task."""
        if task.over or task.phase == RUNNING:
            return
        record = records.read_started(task.folder)
        self._run(task, identity, time.time() if record is None else record.at)

    def resume(self, task: Task) -> None:
        """Find out where a task stands whose supervisor is not a child of this agent."""
        failure = disk.read_json(os.path.join(task.folder, task_folder.ERROR))
        if failure is not None:
            task.error = AgentError(str(failure.get("code")), str(failure.get("message")))
            task.ended_at = failure.get("at")
            self._finish(task, ENDED)
            return
        start = records.read_started(task.folder)
        if start is None:
            return
        task.started_at = start.at
        if start.identity is None:
            self.end(task, None, start.at)
            return
        task.pid, task.identity = start.identity.pid, start.identity
        alive = self._exits.adopted(start.identity, lambda: self._adopted_gone(task))
        if alive or task.in_grace:
            self._run(task, start.identity, start.at)
        if not alive:
            self._adopted_gone(task)

    def end(self, task: Task, code: Optional[int], at: float) -> None:
        task.exit_code, task.ended_at = code, at
        task.disk_full = bool(code) and disk.is_full(task.folder)
        self._finish(task, ENDED)

    def fail(self, task: Task, error: AgentError) -> None:
        """The end of a task that never started, remembered in its folder."""
        task.error = error
        task.ended_at = time.time()
        record = {"code": error.code, "message": error.message, "at": task.ended_at}
        try:
            disk.write_json(os.path.join(task.folder, task_folder.ERROR), record)
        except OSError:
            pass  # the disk is full; the answer still goes out
        self._finish(task, ENDED)

    def _run(self, task: Task, identity: Identity, at: float) -> None:
        task.pid, task.identity, task.started_at = identity.pid, identity, at
        task.phase = RUNNING
        self._book.changed(task)
        for callback in self.on_running:
            callback(task)

    def _child_gone(self, task: Task, pid: int) -> None:
        if task.in_grace:
            # Not reaped before they have gone: until then nobody else can have this group's number.
            self._lingering.after(task, lambda: self._child_settled(task, pid))
        else:
            self._child_settled(task, pid)

    def _child_settled(self, task: Task, pid: int) -> None:
        send_group(pid, signal.SIGKILL)
        code = reap(pid)
        if task.over:
            return
        start = records.read_started(task.folder)
        if start is None and (task.identity is not None or not os.path.isdir(task.folder)):
            self._conclude(task, code)  # it ran, and took its own records away
        elif start is None:
            self._never_claimed(task)
        elif start.identity is None:
            self.end(task, None, start.at)
        elif start.identity.pid != pid:
            self.resume(task)  # a supervisor from before us had the claim; ours stood back
        else:
            task.started_at, task.identity = start.at, start.identity
            self._conclude(task, code)

    def _adopted_gone(self, task: Task) -> None:
        if task.over or task.identity is None:
            return
        if is_alive(task.identity, self._boot):
            return
        if task.in_grace:
            self._lingering.after(task, lambda: self._conclude_once(task))
        else:
            self._conclude(task, None)

    def _conclude_once(self, task: Task) -> None:
        if not task.over:
            self._conclude(task, None)

    def _conclude(self, task: Task, wait_code: Optional[int]) -> None:
        """The supervisor is dead. `wait_code` is how it ended, if we know; it ends with the command's own code."""
        record = records.read_exit(task.folder)
        if record is not None:
            self.end(task, record.code, record.at)
        elif wait_code is not None:
            # It could not write its record: the disk is full, or the task killed its own supervisor.
            self._kill_remnants(task)
            self._record(task, wait_code)
            self.end(task, wait_code, time.time())
        elif task.stopped:
            self._kill_remnants(task)
            self._record(task, _KILLED)
            self.end(task, _KILLED, time.time())
        else:
            self._kill_remnants(task)
            task.ended_at = time.time()
            self._finish(task, LOST)

    def _record(self, task: Task, code: int) -> None:
        try:
            records.record_exit(task.folder, code)
        except OSError:
            pass  # the disk is full or the folder gone; whoever asks this agent hears it all the same

    def _never_claimed(self, task: Task) -> None:
        why = "the supervisor could not record the start in {}; is the disk full?".format(task.folder)
        self.fail(task, AgentError(START_FAILED, why))

    def _kill_remnants(self, task: Task) -> None:
        kill_all(find_members([task.target], self._boot).get(task.uid, []))

    def _finish(self, task: Task, phase: str) -> None:
        task.phase = phase
        if task.stop_timer is not None:
            task.stop_timer.cancel()
        task.oom = containers.ran_out_of_memory(task.folder)
        if task.groups:
            self._read_oom(task)
        self._stragglers.after(task)
        self._book.changed(task)

    def _read_oom(self, task: Task) -> None:
        marker = os.path.join(task.folder, task_folder.OOM)
        if cgroups.ran_out_of_memory(task.groups):
            task.oom = True
            try:
                disk.write_json(marker, {"oom": True})  # the group, and its count, will be gone
            except OSError:
                pass
        elif os.path.exists(marker):
            task.oom = True
