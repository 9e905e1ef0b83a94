"""Commands that somebody runs in a running task: with its environment, in its folder, and confined as it is.

Each has a small process of its own between it and the agent (`entering`), because only a process with one thread may
enter namespaces, and because it outlives an agent that is killed for long enough to end the command. The command ends
with the connection to the server, and with the task.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

import muster.agent
from muster.agent import requests
from muster.agent.errors import NOT_RUNNING, START_FAILED, AgentError
from muster.agent.execution.executions import Answer, CommandInput, Execution, Executions
from muster.agent.execution.marks import Marks, end_marked
from muster.agent.system import disk, terminals
from muster.agent.system.loop import Loop
from muster.agent.system.process_exits import ExitWatch, reap
from muster.agent.system.processes import EXEC_MARK, Identity, is_alive, read_stat, send
from muster.agent.tasks import cgroups, containers, task_folder, task_helper
from muster.agent.tasks.table import RUNNING, Task, TaskBook

_CODE = """
import sys
sys.path.insert(0, sys.argv[1])
from muster.agent.execution.entering import main
main(int(sys.argv[2]))
"""
_SOURCES = os.path.abspath(muster.agent.__file__).rsplit(os.sep, 3)[0]
_END_WITHIN_S = 15.0
_KILL = 9
_END_OF_INPUT = b"\x04"
_TERM = "xterm-256color"
_SET_VARIABLES = '. "$0" && exec "$@"'


class Terminal(NamedTuple):
    rows: int
    columns: int
    kind: str


class TaskCommands:
    def __init__(
        self, loop: Loop, exits: ExitWatch, marks: Marks, executions: Executions, book: TaskBook, current_boot: str
    ) -> None:
        self._loop = loop
        self._exits = exits
        self._marks = marks
        self._executions = executions
        self._book = book
        self._boot = current_boot
        self._in_tasks: Dict[str, Set[Execution]] = {}
        """The commands in each task that ever had one, until the task has ended."""

    def start(self, request: Mapping[str, Any]) -> Optional[Answer]:
        """A command with a terminal is answered when it has opened that, because there is no input before."""
        task = self._book.require(requests.task_id(request))
        argv, terminal = requests.argv(request), requested_terminal(request.get("terminal"))
        self._require_running(task)
        self._executions.require_room()
        mark = self._marks.new()
        runner = _Runner(_order(task, argv, terminal, mark), terminal)
        execution = Execution(self._loop, runner.pid, runner.outputs, lambda: self._end(runner))
        if runner.input is not None:
            execution.input = CommandInput(self._loop, runner.input)
        self._exits.child(runner.pid, lambda: self._gone(execution, runner, mark))
        self._end_with(task, execution)
        answer = {"exec": self._executions.add(execution)}
        if terminal is None:
            return answer
        runner.on_terminal = lambda: self._executions.answer(request["id"], answer)
        self._loop.add_reader(runner.control.fileno(), lambda: self._terminal_opened(execution, runner))
        return None

    def running_in(self, task: Task) -> List[Identity]:
        """The processes through which commands run in the task. What they started descends from them."""
        found = (read_stat(one.pid) for one in self._in_tasks.get(task.uid, ()) if not one.ended)
        return [Identity(stat.pid, stat.start_ticks, self._boot) for stat in found if stat is not None]

    def _end_with(self, task: Task, execution: Execution) -> None:
        """One watch serves all commands in a task."""
        if task.uid in self._in_tasks:
            self._in_tasks[task.uid].add(execution)
            return
        self._in_tasks[task.uid] = {execution}

        def gone() -> None:
            for one in self._in_tasks.pop(task.uid, set()):
                one.task_ended = True
                one.end()

        assert task.identity is not None
        if not self._exits.adopted(task.identity, gone):
            gone()

    def _require_running(self, task: Task) -> None:
        if task.over or task.phase != RUNNING or task.identity is None or not is_alive(task.identity, self._boot):
            raise AgentError(NOT_RUNNING, "the task is not running on this node")

    def _terminal_opened(self, execution: Execution, runner: "_Runner") -> None:
        """The command has opened its terminal, in the task's own view of the devices, and sends us the other end."""
        on_terminal, runner.on_terminal = runner.on_terminal, None
        if on_terminal is None:
            return
        self._loop.remove(runner.control.fileno())
        master = terminals.received_descriptor(runner.control)
        if master is not None:
            execution.input = CommandInput(self._loop, os.dup(master), _END_OF_INPUT)
            execution.resize = lambda rows, columns: terminals.set_size(master, rows, columns)
            execution.add_outputs({master: "stdout"})
        on_terminal()

    def _end(self, runner: "_Runner") -> None:
        """The runner kills the command when we hang up. One that does not get there is killed itself."""
        if runner.is_ended:
            return
        runner.is_ended = True
        runner.control.shutdown(socket.SHUT_RDWR)
        self._loop.call_later(_END_WITHIN_S, lambda: None if runner.is_gone else send(runner.pid, _KILL))

    def _gone(self, execution: Execution, runner: "_Runner", mark: str) -> None:
        code = reap(runner.pid)
        runner.is_gone = True
        self._terminal_opened(execution, runner)  # if the command ended before we came to look
        runner.control.close()
        for commands in self._in_tasks.values():
            commands.discard(execution)
        execution.resize = None
        execution.finish(code if code is not None else -1)
        self._loop.run_blocking(lambda: end_marked(mark), lambda done: None)


class _Runner:
    """The process between the agent and the command."""

    def __init__(self, order: Mapping[str, Any], terminal: Optional[Terminal]) -> None:
        self.on_terminal: Optional[Callable[[], None]] = None
        self.input: Optional[int] = None
        self.is_ended = False
        self.is_gone = False
        self.control, theirs = socket.socketpair()
        stderr, stderr_end = os.pipe()
        self.outputs = {stderr: "stderr"}  # of a command with a terminal, what goes wrong before it is opened
        inherited: List[int] = [subprocess.DEVNULL, subprocess.DEVNULL, stderr_end]
        if terminal is None:
            (stdin, self.input), (stdout, stdout_end) = os.pipe(), os.pipe()
            self.outputs[stdout] = "stdout"
            inherited = [stdin, stdout_end, stderr_end]
        try:
            process = subprocess.Popen(
                [sys.executable, "-IS", "-c", _CODE, _SOURCES, str(theirs.fileno())],
                stdin=inherited[0],
                stdout=inherited[1],
                stderr=inherited[2],
                cwd="/",
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            for fd in [*self.outputs, *([] if self.input is None else [self.input])]:
                os.close(fd)
            self.control.close()
            raise AgentError(START_FAILED, "cannot start a process on this node: {}".format(error.strerror)) from None
        finally:
            theirs.close()
            for fd in inherited:
                if fd >= 0:
                    os.close(fd)
        process.returncode = 0  # it is reaped elsewhere: Popen need not look for it
        self.pid = process.pid
        self.control.sendall(json.dumps(order).encode("ascii") + b"\n")


def requested_terminal(value: Any) -> Optional[Terminal]:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise requests.bad_request("terminal must be null or an object with rows and columns")
    rows, columns = (requests.whole_number(value, key, 1, 10_000) for key in ("rows", "columns"))
    kind = value.get("kind") or _TERM
    if not requests.is_clean(kind) or len(kind) > 100:
        raise requests.bad_request("kind must be the name of a terminal, such as xterm")
    return Terminal(rows, columns, kind)


def _order(task: Task, argv: Tuple[str, ...], terminal: Optional[Terminal], mark: str) -> Dict[str, Any]:
    """What `entering` reads."""
    facts = disk.read_json(os.path.join(task.folder, task_folder.FACTS)) or {}
    order = {"argv": argv, "mark": mark, "terminal": terminal}
    if facts.get("container"):
        return {**order, "argv": _in_container(task, facts["container"], argv, terminal, mark), "leader": None}
    if facts.get(task_helper.FACT):
        why = "the agent of this node is not root, and its task helper cannot run commands in a task yet"
        raise AgentError(START_FAILED, why)
    cwd = facts.get("cwd") or os.path.join(task.folder, task_folder.WORK)
    return {**order, "leader": task.identity, "cwd": cwd, "groups": cgroups.join_files(task.groups)}


def _in_container(
    task: Task, container: Mapping[str, Any], argv: Tuple[str, ...], terminal: Optional[Terminal], mark: str
) -> List[str]:
    """The engine knows the variables, the folder and the account. The mark is no secret; the variables may be."""
    program, name = str(container.get("program", "")), str(container.get("name", ""))
    if not name:
        message = "{} keeps no container that a command could enter".format(os.path.basename(program))
        raise AgentError(START_FAILED, message)
    if not containers.is_contained(task):
        raise AgentError(NOT_RUNNING, "the container of the task has ended")
    variables = os.path.join(task.folder, task_folder.CONTAINER_VARIABLES)
    setting = ["sh", "-c", _SET_VARIABLES, variables] if os.path.exists(variables) else []
    as_terminal = [] if terminal is None else ["--tty", "--env", "TERM={}".format(terminal.kind)]
    options = ["--interactive", *as_terminal, "--env", "{}={}".format(EXEC_MARK, mark)]
    return [program, "exec", *options, name, *setting, *argv]
