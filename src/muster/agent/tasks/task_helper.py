"""The agent's end of the task helper: a small program of root's that an agent that is not root may call by a sudo rule.

It starts tasks under the accounts of their owners, signals their processes, and gives their files back at their end.
It is `deploy/task-helper`, installed by an admin, and checks by itself everything that it is asked for. A task that it
has started is marked in its facts, so that the next agent knows it, too.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import Future
from typing import Any, Callable, Dict, List, Mapping, Sequence, Set

from muster.agent.isolation.accounts import Account
from muster.agent.system import disk
from muster.agent.system.loop import Loop
from muster.agent.system.short_commands import Called, call
from muster.agent.tasks import task_folder
from muster.agent.tasks.table import Task

SUDO = "/usr/bin/sudo"
HELPER = "/usr/local/lib/muster/task-helper"
FACT = "helper"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

_NOT_NEEDED = "the agent is root and needs no helper"
_NOT_INSTALLED = "{} is not installed".format(HELPER)
_ANSWER_WITHIN_S = 30.0
_CHECK_WITHIN_S = 10.0
_STARTS_WITHIN_S = 5.0
_AGAIN_S = 0.1


def is_needed(account: Account) -> bool:
    """Whether we cannot act under this account ourselves."""
    return os.getuid() not in (0, account.uid)


def problem(root: str) -> str:
    """Why the helper cannot be used by an agent with this root folder; empty if it can."""
    if os.getuid() == 0:
        return _NOT_NEEDED
    if not os.path.exists(HELPER):
        return _NOT_INSTALLED
    try:
        answer = call(_command("check"), _CHECK_WITHIN_S)
        if answer.code != 0:
            return "{} cannot be used: {}".format(HELPER, answer.complaint)
        allowed = str(json.loads(answer.output)["root"])
    except (OSError, ValueError, KeyError) as error:
        return "{} cannot be used: {}".format(HELPER, error)
    return "" if root.startswith(allowed + "/") else "{} is for {}, and not for {}".format(HELPER, allowed, root)


def start_command(folder: str) -> List[str]:
    return _command("run", folder)


def start_order(
    account: Account, names: Sequence[str], inputs: Sequence[str], cwd: str, argv: Sequence[str], env: Mapping[str, str]
) -> str:
    """What the helper reads on its standard input. `names` are the parts of the task's folder that are for the task."""
    order: Dict[str, Any] = {
        "uid": account.uid,
        "names": list(names),
        "inputs": list(inputs),
        "cwd": cwd,
        "argv": list(argv),
        "env": dict(env),
    }
    return json.dumps(order)


class HelpedTasks:
    """What is done by the helper for tasks that it has started."""

    def __init__(self, loop: Loop, warn: Callable[[str], None]) -> None:
        self._loop = loop
        self._warn = warn
        self._in_flight: Set[str] = set()

    def terminate(self, task: Task) -> None:
        if _is_helped(task):
            self._terminate(task, time.monotonic() + _STARTS_WITHIN_S)

    def kill(self, task: Task) -> None:
        """It is called again and again until the task has ended."""
        if task.uid in self._in_flight or not _is_helped(task):
            return
        self._in_flight.add(task.uid)
        self._call("kill", task, lambda answer: self._in_flight.discard(task.uid))

    def reclaim(self, task: Task, done: Callable[[], None]) -> None:
        """Call `done` when nothing of the task is left and its files belong to us; at once, if they always did."""
        if _is_helped(task):
            self._call("reclaim", task, lambda answer: done())
        else:
            done()

    def _terminate(self, task: Task, deadline: float) -> None:
        """The helper may not have become the task yet."""

        def told(answer: str) -> None:
            if answer in ("", "0") and not task.over and time.monotonic() < deadline:
                self._loop.call_later(_AGAIN_S, lambda: self._terminate(task, deadline))

        self._call("terminate", task, told)

    def _call(self, verb: str, task: Task, then: Callable[[str], None]) -> None:
        def called(done: Future[Called]) -> None:
            error = done.exception()
            if error is not None or done.result().code != 0:
                self._warn("task-helper {} {}: {}".format(verb, task.uid, error or done.result().complaint))
            then("" if error is not None else done.result().output.strip())

        self._loop.run_blocking(lambda: call(_command(verb, task.folder), _ANSWER_WITHIN_S), called)


def _is_helped(task: Task) -> bool:
    if os.getuid() == 0:
        return False
    facts = disk.read_json(os.path.join(task.folder, task_folder.FACTS)) or {}
    return bool(facts.get(FACT))


def _command(*arguments: str) -> List[str]:
    return [SUDO, "-n", HELPER, *arguments]
