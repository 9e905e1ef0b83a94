"""The parent of all commands that one agent started: it claims their tasks, starts them, waits for them and records
how each of them ended.

It is a process of its own, started by the agent, and outlives it: when the agent has gone it stays until its last
command has ended, and keeps their logs below the limits. It does as little as possible, so that there is nothing in it
that could fail or would have to be replaced. A parent for each task would cost more than all the rest of a launch (ADR
4).

Orders come in on descriptor 0 and notices go out on 1, as frames. Notices only save the agent from looking: the truth
is in the records, which are written first. A command that has ended stays a zombie until its exit is recorded, so
that neither its process nor a record means that there will be none.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from muster.agent.interaction import held_input
from muster.agent.interaction.held_input import HeldInput, HolderLink, Place
from muster.agent.isolation import confined_start
from muster.agent.isolation.confined_start import Command, Confinement
from muster.agent.isolation.spare_process import SpareProcess
from muster.agent.isolation.system_calls import rusage_of_ended
from muster.agent.system.channel import Channel
from muster.agent.system.child_signals import child_signals, do_nothing
from muster.agent.system.loop import Loop
from muster.agent.system.orphans import adopt_orphans, children
from muster.agent.system.processes import Identity, boot_id, identity_of, own_peak_bytes, send_group
from muster.agent.tasks import command, records
from muster.agent.tasks.joining import Joining
from muster.agent.tasks.log_limits import LogLimiting
from muster.agent.tasks.log_times import LogTiming
from muster.agent.tasks.task_folder import ATTACH, LOG

# A command may send one of these to its parent, in the belief that it is a shell.
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_COPY_MARGIN_BYTES = 4 << 20
_SPARE_AFTER_S = 0.005
"""When the process for the next task is forked: soon, but not while this one is being started."""


class _Running(NamedTuple):
    task: str
    folder: str
    log_bytes: Optional[int]
    holder: Optional[HolderLink]
    """Holds the task's standard input, if that stays open."""


class Shim:
    def __init__(self, loop: Loop, own: Identity) -> None:
        self._loop = loop
        self._own = own
        self._running: Dict[int, _Running] = {}
        self._has_agent = True
        self._spare = SpareProcess()
        self._channel = Channel(loop, 0, 1, self._start, self._agent_gone)
        self._limiting = LogLimiting(loop, lambda work: work())
        self._timing = LogTiming(loop)
        self._ends = child_signals()
        loop.add_reader(self._ends, self._take_ends)

    def _start(self, order: Mapping[str, Any]) -> None:
        task, folder = str(order["task"]), str(order["folder"])
        try:
            claim = records.claim(folder, self._own)
        except FileExistsError:
            self._tell("refused", task)
            return
        except OSError as error:
            self._tell("failed", task, errno=error.errno)
            return
        try:
            pid, holder = self._spawn(folder, order)
            identity = identity_of(pid, self._own.boot_id)
            self._record_start(claim, identity)
        except OSError as error:
            self._tell("failed", task, errno=error.errno)
        else:
            self._running[pid] = _Running(task, folder, order.get("log_bytes"), holder)
            self._tell("started", task, pid=pid, start_ticks=identity.start_ticks)
        finally:
            os.close(claim)

    def _spawn(self, folder: str, order: Mapping[str, Any]) -> Tuple[int, Optional[HolderLink]]:
        kind = order.get("stdin")
        if kind is None:
            return self._spawn_alone(folder, order), None
        begin = held_input.for_any_view if order.get("confinement") is None else held_input.for_own_view
        held = begin(kind, Place(os.path.join(folder, LOG), folder, ATTACH))
        try:
            return _spawn_interactive(folder, order, held), held.link
        finally:
            held.close()

    def _spawn_alone(self, folder: str, order: Mapping[str, Any]) -> int:
        groups, confined = Joining(*order["groups"]), order.get("confinement")
        if confined is None:
            return command.spawn(folder, order["cwd"], groups, order["argv"], order["env"], order.get("given"))
        started, confinement = _confined_command(folder, order), Confinement(*confined)
        if confinement.namespaced:
            return confined_start.spawn(started, confinement)
        self._loop.call_later(_SPARE_AFTER_S, lambda: self._spare.prepare(started, confinement))
        return self._spare.become(started, confinement) or confined_start.spawn(started, confinement)

    def _record_start(self, claim: int, identity: Identity) -> None:
        try:
            records.complete(claim, identity)
        except OSError:
            send_group(identity.pid, signal.SIGKILL)  # nobody could find it again
            raise

    def _take_ends(self) -> None:
        os.read(self._ends, 65536)
        while True:
            ended = _next_ended()
            if ended is None:
                break
            running = self._running.pop(ended.si_pid, None)
            if running is None:
                if ended.si_pid == self._spare.pid:
                    self._spare.forget()
                os.waitpid(ended.si_pid, 0)  # a command left it behind
            else:
                self._end(running, ended.si_pid, _exit_code(ended))
        self._leave_if_done()

    def _end(self, running: _Running, pid: int, code: int) -> None:
        if running.holder is not None:
            running.holder.finish()
        self._limiting.ended(running.folder)
        self._timing.ended(running.folder)
        used = rusage_of_ended(pid)
        try:
            if used is not None:
                records.record_rusage(running.folder, records.Rusage(used[0], _own_memory(used[1])))
            records.record_exit(running.folder, code)
        except OSError:
            pass  # the disk is full or the folder gone; the agent, if there is one, learns it all the same
        grace_until = records.read_stop(running.folder)
        if grace_until is None or grace_until <= time.time():
            send_group(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._tell("ended", running.task, code=code, left=self._has_orphans())

    def _has_orphans(self) -> bool:
        """Returns True if there are orphans, or if the kernel cannot say."""
        found = children()
        holders = {running.holder.pid for running in self._running.values() if running.holder is not None}
        return found is None or not {*self._running, *holders, self._spare.pid} >= found

    def _tell(self, what: str, task: str, **more: Any) -> None:
        if self._has_agent:
            self._channel.send({"event": what, "task": task, **more})

    def _agent_gone(self, problem: str) -> None:
        self._has_agent = False
        self._channel.close()
        for running in self._running.values():
            self._limiting.watch(running.folder, running.log_bytes)
            self._timing.watch(running.folder)
        self._leave_if_done()

    def _leave_if_done(self) -> None:
        if not self._has_agent and not self._running:
            self._loop.stop()


def main() -> None:
    adopt_orphans()
    for number in _IGNORED:
        signal.signal(number, do_nothing)  # and not SIG_IGN, which every command would inherit
    gc.freeze()  # else collecting garbage would copy all pages that are shared with what was forked
    loop = Loop()
    Shim(loop, identity_of(os.getpid(), boot_id()))
    loop.run()


def _spawn_interactive(folder: str, order: Mapping[str, Any], held: HeldInput) -> int:
    if order.get("confinement") is None:
        groups = Joining(*order["groups"])
        return command.spawn_interactive(folder, order["cwd"], groups, order["argv"], order["env"], held)
    started = _confined_command(folder, order)._replace(stdin=held.stdin, terminal=held.wanted)
    return confined_start.spawn(started, Confinement(*order["confinement"]))


def _confined_command(folder: str, order: Mapping[str, Any]) -> Command:
    groups = Joining(*order["groups"])
    entered = [path for path in (groups.through, *groups.itself) if path]
    return Command(folder, os.path.join(folder, LOG), order["cwd"], entered, order["argv"], order["env"])


def _next_ended() -> Optional[os.waitid_result]:
    """It stays a zombie, and its number taken, until it is waited for."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None


def _own_memory(largest_bytes: int) -> int:
    """A process begins as a copy of this one, whose memory the kernel counts as its own although it becomes a small
    program at once. What is not clearly more says nothing about the program."""
    return largest_bytes if largest_bytes > own_peak_bytes() + _COPY_MARGIN_BYTES else 0


def _exit_code(ended: os.waitid_result) -> int:
    """Returns the exit code as a shell reports it: for a signal, 128 plus its number."""
    return ended.si_status if ended.si_code == os.CLD_EXITED else 128 + ended.si_status
