"""Runs beside a task inside its allocation, and answers requests about it: commands in it, and connections to it.

`python -I -S -c … ARCHIVE TARGET`, started by srun. Requests come on the standard input and answers go to the standard
output, as lines. It ends, with everything that it has started, when its input ends, when nothing has come for a while,
and with the task.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, Mapping, Optional

from muster.agent.errors import BAD_REQUEST, SYSTEM, AgentError, from_os_error
from muster.agent.execution.connections import Connections
from muster.agent.execution.executions import Executions
from muster.agent.execution.marks import Marks
from muster.agent.execution.task_commands import TaskCommands
from muster.agent.system.channel import LINES, Channel
from muster.agent.system.frames import Message
from muster.agent.system.loop import Loop
from muster.agent.system.orphans import children
from muster.agent.system.process_exits import ExitWatch
from muster.agent.system.processes import Identity, boot_id
from muster.agent.tasks.table import RUNNING, Task, TaskBook

ALIVE = "alive"
BEGUN, IDLE = "begun", "idle"
TELL_EVERY_S = 15.0
"""How often whoever asks says that it is still there."""
_SILENT_S = 6 * TELL_EVERY_S
_IDLE_S = 60.0
_LOOK_EVERY_S = 5.0
_END_WITHIN_S = 10.0
_END_LOOK_S = 0.02
_THREADS = 4

Answer = Dict[str, Any]
Operation = Callable[[Mapping[str, Any]], Optional[Answer]]


def main() -> None:
    target = json.loads(sys.argv[2])
    # Slurm asks all of a job to end when the job does. We end with the task, once its commands have.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    output = os.dup(1)
    os.dup2(2, 1)  # nothing else is printed between two answers
    os.chdir("/")
    loop = Loop(ThreadPoolExecutor(_THREADS))
    task = Task(str(target["task"]), str(target["folder"]))
    task.phase, task.identity = RUNNING, Identity(*target["process"])
    _share_processors(task.identity.pid)
    session = TaskSession(loop, task)
    session.begin(Channel(loop, 0, output, session.handle, lambda problem: session.end(), LINES))
    loop.run()


def _share_processors(pid: int) -> None:
    """The step may use all that the job has on this node. What it starts uses no others than the task."""
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(pid))
    except OSError:
        pass  # the task has ended, or the step has none of them


class TaskSession:
    def __init__(self, loop: Loop, task: Task) -> None:
        self._loop = loop
        self._task = task
        self._channel: Optional[Channel] = None
        self._is_ending = False
        self._heard_at = self._used_at = time.monotonic()
        boot = boot_id()
        book = TaskBook(os.path.dirname(task.folder), lambda _: None)
        book.add(task)
        self._exits = ExitWatch(loop, boot)
        self._executions = Executions(loop, self._answer)
        commands = TaskCommands(loop, self._exits, Marks(loop, task.folder), self._executions, book, boot)
        self._connections = Connections(loop, self._exits, book, commands, boot, self._answer, self._refuse)
        self._operations: Dict[str, Operation] = {
            "exec_in_task": commands.start,
            "exec_read": self._executions.read,
            "exec_write": self._executions.write,
            "exec_resize": self._executions.resize,
            "exec_stop": self._executions.stop,
            "connect": self._connections.connect,
            "connection_read": self._connections.read,
            "connection_write": self._connections.write,
            "connection_close": self._connections.close,
        }

    def begin(self, channel: Channel) -> None:
        self._channel = channel
        channel.send({"event": BEGUN})
        assert self._task.identity is not None
        if not self._exits.adopted(self._task.identity, self._task_ended):
            self._task_ended()
        self._look()

    def handle(self, request: Message) -> None:
        self._heard_at = time.monotonic()
        number, op = request.get("id"), str(request.get("op"))
        if op == ALIVE or not isinstance(number, int):
            return
        try:
            operation = self._operations.get(op)
            if operation is None:
                raise AgentError(BAD_REQUEST, "there is no operation {!r}".format(op))
            answer = operation(request)
        except AgentError as error:
            self._refuse(number, error)
        except OSError as error:
            self._refuse(number, from_os_error(error))
        except Exception as error:
            self._refuse(number, AgentError(SYSTEM, "the step in the task failed: {!r}".format(error)))
        else:
            if answer is not None:
                self._answer(number, answer)

    def end(self) -> None:
        """Nobody asks any more: end what was started here, and leave."""
        if self._is_ending:
            return
        self._is_ending = True
        if self._channel is not None:
            self._channel.close()
        self._executions.stop_all()
        self._connections.close_all()
        self._leave_when(lambda: not children(), time.monotonic() + _END_WITHIN_S)

    def _task_ended(self) -> None:
        """Commands and connections end with the task by themselves. Their readers are told before we leave."""
        self._leave_when(self._is_all_told, time.monotonic() + _END_WITHIN_S)

    def _is_all_told(self) -> bool:
        is_sent = self._channel is None or self._channel.has_sent_all
        return self._is_unused and is_sent and not children()

    def _leave_when(self, is_done: Callable[[], bool], deadline: float) -> None:
        if is_done() or time.monotonic() > deadline:
            os._exit(0)
        self._loop.call_later(_END_LOOK_S, lambda: self._leave_when(is_done, deadline))

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._heard_at > _SILENT_S:
            self.end()
            return
        self._used_at = self._used_at if self._is_unused else now
        if now - self._used_at > _IDLE_S:
            self._push({"event": IDLE})
        self._loop.call_later(_LOOK_EVERY_S, self._look)

    @property
    def _is_unused(self) -> bool:
        return self._executions.is_empty and self._connections.is_empty

    def _answer(self, number: int, answer: Answer) -> None:
        self._push({"id": number, "ok": True, **answer})

    def _refuse(self, number: int, error: AgentError) -> None:
        self._push({"id": number, "ok": False, "error": error.code, "message": error.message})

    def _push(self, message: Mapping[str, Any]) -> None:
        if self._channel is not None and not self._is_ending:
            self._channel.send(message)
