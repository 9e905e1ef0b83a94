"""Decides what has become of a task, from its records and from whether its command and its shim live, and says so
once.

The order of looking matters: first whether somebody lives who could still record the exit, then whether there is a
record. Whoever was dead before we looked for the record had all the time they will ever have to write it.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, List, Optional

from muster.agent.errors import AgentError, from_os_error
from muster.agent.system import disk
from muster.agent.system.process_exits import ExitWatch, reap
from muster.agent.system.processes import Identity, find_members, is_alive, kill_all, read_stat
from muster.agent.tasks import cgroups, containers, records, task_folder
from muster.agent.tasks.site_hooks import SiteHooks
from muster.agent.tasks.stragglers import Stragglers
from muster.agent.tasks.survivors import Lingering
from muster.agent.tasks.table import ENDED, LOST, RUNNING, Task, TaskBook
from muster.agent.tasks.task_helper import HelpedTasks

_KILLED = 128 + signal.SIGKILL


class Settling:
    def __init__(
        self,
        book: TaskBook,
        exits: ExitWatch,
        stragglers: Stragglers,
        helped: HelpedTasks,
        hooks: SiteHooks,
        current_boot: str,
    ) -> None:
        self._book = book
        self._exits = exits
        self._stragglers = stragglers
        self._helped = helped
        self._hooks = hooks
        self._lingering = Lingering(exits, current_boot)
        self._boot = current_boot
        self.on_running: List[Callable[[Task], None]] = []
        self.on_counted: List[Callable[[Task], None]] = []
        """Called when the command has ended, while its control group still exists."""
        self.on_ending: List[Callable[[Task], None]] = []
        """Called when the command has ended, before the epilog and before anybody is told."""

    def command_started(self, task: Task, identity: Identity) -> None:
        """Our shim has claimed the task and started it."""
        if task.over or task.phase == RUNNING:
            return
        record = records.read_started(task.folder)
        self._run(task, identity, time.time() if record is None else record.at)

    def command_ended(self, task: Task, code: int, *, left_behind: bool) -> None:
        """Our shim has recorded it, if that was possible."""
        if not task.over:
            task.left_behind = left_behind
            self._conclude_after_grace(task, code)

    def not_started(self, task: Task, number: int) -> None:
        """Our shim could not, for this reason of the system."""
        if not task.over:
            self.fail(task, from_os_error(OSError(number, os.strerror(number), task.folder)))

    def shim_killed(self, task: Task) -> None:
        """Our own shim: a command that it had started is our child now, unless it had ended before."""
        if task.over:
            return
        leader = task.identity or self._started_by_killed_shim(task)
        if leader is not None:
            self.command_started(task, leader)
            self._exits.child(leader.pid, lambda: self._child_gone(task, leader.pid))

    def resume(self, task: Task) -> None:
        """Find out where a task stands that was started by somebody before us."""
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
        if start.leader is None:
            self.end(task, None, start.at)
            return
        task.pid, task.identity = start.leader.pid, start.leader
        task.shim, task.has_supervisor = start.shim, start.shim is None
        if start.shim is not None and not self._exits.adopted(start.shim, lambda: self._shim_gone(task)):
            if task.in_grace:
                self._run(task, start.leader, start.at)
            self._shim_gone(task)
            return
        alive = self._exits.adopted(start.leader, lambda: self._adopted_gone(task))
        if alive or task.in_grace:
            self._run(task, start.leader, start.at)
        if not alive:
            self._adopted_gone(task)

    def give_up(self, task: Task) -> None:
        """Claimed, and whoever claimed it did not get as far as saying whom they started."""
        self._lose(task)

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

    def _started_by_killed_shim(self, task: Task) -> Optional[Identity]:
        """It may have been killed before it could tell us, or even before it could say whom it had started."""
        start = records.read_started(task.folder)
        if start is not None:
            return start.leader
        if not records.is_claimed(task.folder):
            return None
        for pid in find_members([task.target], self._boot).get(task.uid, []):
            stat = read_stat(pid)
            if stat is not None and stat.session == pid:
                leader = Identity(pid, stat.start_ticks, self._boot)
                records.complete_for_another(task.folder, leader)
                return leader
        return None

    def _run(self, task: Task, identity: Identity, at: float) -> None:
        task.pid, task.identity, task.started_at = identity.pid, identity, at
        task.phase = RUNNING
        self._book.changed(task)
        for callback in self.on_running:
            callback(task)

    def _child_gone(self, task: Task, pid: int) -> None:
        code = reap(pid)
        if not task.over:
            self._conclude_after_grace(task, code)

    def _adopted_gone(self, task: Task) -> None:
        if task.over or task.identity is None or is_alive(task.identity, self._boot):
            return
        if task.shim is None:
            self._conclude_after_grace(task, None)
        else:
            self._exits.reaped(task.identity, lambda: self._reaped(task))

    def _reaped(self, task: Task) -> None:
        if not task.over:
            self._conclude_after_grace(task, None)

    def _shim_gone(self, task: Task) -> None:
        """The shim of an earlier agent is gone: what has not been recorded never will be. It leaves after its last
        command, which is before the processes of a stopped task that outlive theirs."""
        if not task.over:
            self._conclude_after_grace(task, None)

    def _conclude_after_grace(self, task: Task, code: Optional[int]) -> None:
        if task.in_grace:
            self._lingering.after(task, lambda: self._conclude_once(task, code))
        else:
            self._conclude(task, code)

    def _conclude_once(self, task: Task, code: Optional[int]) -> None:
        if not task.over:
            self._conclude(task, code)

    def _conclude(self, task: Task, wait_code: Optional[int]) -> None:
        """Nobody will record the exit any more. `wait_code` is how the command ended, if we know."""
        record = records.read_exit(task.folder)
        if record is not None:
            self.end(task, record.code, record.at)
        elif wait_code is not None:
            # The shim was killed or could not write: the disk is full, or the task took its own folder away.
            self._kill_remnants(task)
            self._record(task, wait_code)
            self.end(task, wait_code, time.time())
        elif task.stopped:
            self._kill_remnants(task)
            self._record(task, _KILLED)
            self.end(task, _KILLED, time.time())
        else:
            self._lose(task)

    def _lose(self, task: Task) -> None:
        self._kill_remnants(task)
        task.ended_at = time.time()
        self._finish(task, LOST)

    def _record(self, task: Task, code: int) -> None:
        try:
            records.record_exit(task.folder, code)
        except OSError:
            pass  # the disk is full or the folder gone; whoever asks this agent hears it all the same

    def _kill_remnants(self, task: Task) -> None:
        kill_all(find_members([task.target], self._boot).get(task.uid, []))

    def _finish(self, task: Task, phase: str) -> None:
        if task.over:
            return
        task.end_phase = phase
        if task.stop_timer is not None:
            task.stop_timer.cancel()
        task.oom = containers.ran_out_of_memory(task.folder)
        if task.groups:
            self._read_oom(task)
        for callback in self.on_counted:
            callback(task)
        if self._leaves_something(task) or containers.is_contained(task):
            cgroups.kill(task.groups)
            self._stragglers.after(task)
        for callback in self.on_ending:
            callback(task)
        self._helped.reclaim(task, lambda: self._hooks.after(task, lambda: self._tell_end(task, phase)))

    def _tell_end(self, task: Task, phase: str) -> None:
        task.phase = phase
        self._book.changed(task)

    def _leaves_something(self, task: Task) -> bool:
        """A group that can be removed was empty. Without a group, only the parent of all tasks can have noticed."""
        return not cgroups.remove(task.groups) if task.groups else task.left_behind

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
