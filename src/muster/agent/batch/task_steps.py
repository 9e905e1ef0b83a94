"""Requests about running tasks of a batch system, which a step in their allocations answers: commands, connections.

A task that somebody enters has one step for all who do. It ends when nobody has used it for a while, with the task, and
with this agent.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

from muster.agent import requests
from muster.agent.batch.entry import ENTRY, srun_command
from muster.agent.batch.programs import UNREACHABLE, Programs
from muster.agent.batch.spool import BEGIN
from muster.agent.batch.task_step import TaskStep
from muster.agent.batch.tasks import BatchTask
from muster.agent.errors import BAD_REQUEST, NOT_RUNNING, START_FAILED, UNKNOWN_TASK, AgentError
from muster.agent.system.frames import Message
from muster.agent.system.loop import Loop
from muster.agent.system.process_exits import ExitWatch

_BEGINNING = frozenset(("exec_in_task", "connect"))
_ENDING = frozenset(("exec_stop", "connection_close"))
_BETWEEN = frozenset(("exec_read", "exec_write", "exec_resize", "connection_read", "connection_write"))
_MOST_STEPS = 128

Answer = Dict[str, Any]


class TaskSteps:
    """`task_of` finds a task that this login node knows, and `send` passes an answer to the server."""

    def __init__(
        self,
        loop: Loop,
        exits: ExitWatch,
        task_of: Callable[[str], Optional[BatchTask]],
        programs_of: Callable[[], Programs],
        send: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._loop = loop
        self._exits = exits
        self._task_of = task_of
        self._programs_of = programs_of
        self._send = send
        self._steps: Dict[str, TaskStep] = {}

    def ask(self, request: Mapping[str, Any]) -> Optional[Answer]:
        """Pass the request `asked` on to the step of the task. Somebody who begins something there starts the step."""
        uid, asked = requests.task_id(request), requests.text(request, "asked")
        if asked not in _BEGINNING | _BETWEEN | _ENDING:
            raise requests.bad_request("there is no operation {!r} in a task".format(asked))
        step = self._steps.get(uid)
        if step is None and asked in _ENDING:
            return {}
        if step is None and asked in _BETWEEN:
            raise AgentError(BAD_REQUEST, "nobody has entered {}".format(uid))
        if step is None:
            step = self._steps[uid] = self._started(uid)
        step.ask({**request, "op": asked})
        return None

    def _started(self, uid: str) -> TaskStep:
        task = self._task_of(uid)
        if task is None:
            raise AgentError(UNKNOWN_TASK, "the login node has no task {}".format(uid))
        begin, job = task.gang.mark(uid, BEGIN), task.gang.job()
        if task.over or begin is None or job is None:
            raise AgentError(NOT_RUNNING, "the task has ended" if task.over else "the task has not begun")
        if not begin.get(ENTRY):
            raise AgentError(START_FAILED, "the task was started by an earlier version of Muster and cannot be entered")
        if len(self._steps) >= _MOST_STEPS:
            raise AgentError(START_FAILED, "people have entered {} tasks of this cluster already".format(_MOST_STEPS))
        programs = self._programs_of()
        argv = programs.argv(srun_command(job, uid, begin), str((task.gang.facts() or {}).get("user") or ""))
        return TaskStep(
            self._loop, self._exits, argv, programs.env, self._answered, lambda step: self._ended(uid, step)
        )

    def _answered(self, answer: Message) -> None:
        self._send(answer)

    def _ended(self, uid: str, step: TaskStep) -> None:
        if self._steps.get(uid) is step:
            del self._steps[uid]
        error = self._why(uid, step)
        for number in sorted(step.waiting):
            self._send({"id": number, "ok": False, "error": error.code, "message": error.message})

    def _why(self, uid: str, step: TaskStep) -> AgentError:
        task = self._task_of(uid)
        if task is None or task.over:
            return AgentError(NOT_RUNNING, "the task has ended")
        if not step.has_begun:
            return AgentError(START_FAILED, "srun started no step beside the task: {}".format(step.words))
        return AgentError(UNREACHABLE, "the step beside the task has ended: {}".format(step.words))
