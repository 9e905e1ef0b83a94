"""Commands that an admin runs on the node. They have no job, no folder and no log, and live while somebody reads them.

A command ends with the connection to the server: an agent that leaves ends its commands, and those of an agent that
was killed are ended by the next one.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any, Mapping, Tuple

from muster.agent import requests
from muster.agent.errors import START_FAILED, AgentError
from muster.agent.execution.executions import Answer, Execution, Executions
from muster.agent.execution.marks import Marks, end_marked
from muster.agent.system.loop import Loop
from muster.agent.system.process_exits import ExitWatch, reap
from muster.agent.system.processes import EXEC_MARK, send_group
from muster.agent.system.site_scripts import account_environment

_KILL = 9


class NodeCommands:
    def __init__(self, loop: Loop, exits: ExitWatch, marks: Marks, executions: Executions) -> None:
        self._loop = loop
        self._exits = exits
        self._marks = marks
        self._executions = executions

    def start(self, request: Mapping[str, Any]) -> Answer:
        argv = requests.argv(request)
        timeout_s = requests.seconds(request, "timeout_s")
        self._executions.require_room()
        mark = self._marks.new()
        pid, stdout, stderr = _spawned(argv, mark)
        outputs = {stdout: "stdout", stderr: "stderr"}
        execution = Execution(self._loop, pid, outputs, lambda: send_group(pid, _KILL))
        self._exits.child(pid, lambda: self._gone(execution, mark))
        execution.deadline = self._loop.call_later(timeout_s, lambda: _expire(execution))
        return {"exec": self._executions.add(execution)}

    def _gone(self, execution: Execution, mark: str) -> None:
        """Other processes of the command, which may hold its pipes open, are killed."""
        code = reap(execution.pid)
        send_group(execution.pid, _KILL)
        execution.finish(code if code is not None else -1)
        self._loop.run_blocking(lambda: end_marked(mark), lambda done: None)


def _spawned(argv: Tuple[str, ...], mark: str) -> Tuple[int, int, int]:
    """The pid, and where its output and its errors are read."""
    env = {**account_environment(), EXEC_MARK: mark}
    home = env["HOME"] if os.path.isdir(env["HOME"]) else "/"
    (stdout, stdout_end), (stderr, stderr_end) = os.pipe(), os.pipe()
    try:
        process = subprocess.Popen(
            argv,
            env=env,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=stdout_end,
            stderr=stderr_end,
            start_new_session=True,
        )
    except OSError as error:
        os.close(stdout)
        os.close(stderr)
        raise AgentError(START_FAILED, "cannot run {}: {}".format(argv[0], error.strerror)) from None
    finally:
        os.close(stdout_end)
        os.close(stderr_end)
    process.returncode = 0  # it is reaped elsewhere: Popen need not look for it
    return process.pid, stdout, stderr


def _expire(execution: Execution) -> None:
    execution.timed_out = True
    execution.end()
