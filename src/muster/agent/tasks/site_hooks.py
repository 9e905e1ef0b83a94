"""The prolog and the epilog of the admin around a task: the one before its command starts, the other after its end.

An epilog is owed from the moment at which the prolog, or else the command, is about to start. That is recorded in the
task's folder before, and that it has run afterwards, so each owed epilog runs; again, if the agent was killed
meanwhile. What a killed agent left running of either is ended before another script starts.
"""

from __future__ import annotations

import os
import threading
from typing import Callable, Dict, Mapping, Optional

from muster.agent.system import disk
from muster.agent.system.descriptors import write_into
from muster.agent.system.loop import Loop
from muster.agent.system.processes import MARK, kill_all, marked
from muster.agent.system.site_scripts import ScriptEnd, run_script
from muster.agent.tasks.table import Task
from muster.agent.tasks.task_folder import EPILOG, LOG
from muster.agent.tasks.task_scripts import Script, TaskScripts

_SWEEP_WITHIN_S = 30.0


class SiteHooks:
    def __init__(self, loop: Loop, root: str) -> None:
        self._loop = loop
        self._marks = os.path.join(root, "scripts")
        self._mark = os.path.join(self._marks, os.urandom(8).hex())
        self._is_swept = threading.Event()
        self._in_prolog: Dict[str, Callable[[], None]] = {}

    def begin(self) -> None:
        """End the scripts of an agent that could not do so itself."""
        threading.Thread(target=self._sweep, daemon=True).start()

    def before(self, task: Task, scripts: Optional[TaskScripts], go: Callable[[str], None]) -> None:
        """Call `go` with why the prolog failed, or with nothing if the command may start; at once, if there is no
        prolog. Raises OSError when it cannot be recorded that an epilog is owed."""
        if scripts is None:
            go("")
            return
        if scripts.epilog is not None:
            disk.write_json(os.path.join(task.folder, EPILOG), {"done": False})
        if scripts.prolog is None:
            go("")
            return
        self._in_prolog[task.uid] = _nothing

        def ended(end: ScriptEnd) -> None:
            then = self._in_prolog.pop(task.uid)
            if not end.problem:
                _show(task, end.output)
            go(end.problem)
            then()

        self._run(scripts.prolog, scripts.variables, ended)

    def after(self, task: Task, done: Callable[[], None]) -> None:
        """Call `done` when the epilog has ended; at once, if none is owed. A prolog that still runs is waited for."""
        path = os.path.join(task.folder, EPILOG)
        record = disk.read_json(path)
        if record is None:
            done()
            return
        task.node_problem = str(record.get("problem") or "")
        scripts = task.scripts
        if record.get("done") or scripts is None or scripts.epilog is None:
            done()
            return
        epilog, variables = scripts.epilog, scripts.variables

        def ended(end: ScriptEnd) -> None:
            task.node_problem = "epilog: {}".format(end.problem) if end.problem else ""
            try:
                disk.write_json(path, {"done": True, "problem": task.node_problem})
            except OSError:
                pass  # the disk is full: the next agent runs it again
            done()

        def run() -> None:
            self._run(epilog, variables, ended)

        if task.uid in self._in_prolog:
            self._in_prolog[task.uid] = run
        else:
            run()

    def _run(self, script: Script, variables: Mapping[str, str], ended: Callable[[ScriptEnd], None]) -> None:
        """Runs it on a thread of its own: a script that hangs must not keep others from the few threads of the loop."""

        def work() -> None:
            self._is_swept.wait(_SWEEP_WITHIN_S)
            try:
                end = run_script(script.argv, script.timeout_s, {**variables, MARK: self._mark})
            except Exception as error:
                end = ScriptEnd(repr(error))
            self._loop.post(lambda: ended(end))

        threading.Thread(target=work, daemon=True).start()

    def _sweep(self) -> None:
        try:
            kill_all(marked(self._marks, but=self._mark))
        finally:
            self._is_swept.set()


def _show(task: Task, output: str) -> None:
    """Put what the prolog has printed at the head of the task's log, where its owner and admins look."""
    lines = "".join("prolog: {}\n".format(line) for line in output.splitlines())
    if not lines:
        return
    try:
        write_into(os.path.join(task.folder, LOG), lines.encode("utf-8", "replace"))
    except OSError:
        pass  # the disk is full: the command will report it


def _nothing() -> None:
    pass
