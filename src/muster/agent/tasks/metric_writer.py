"""`muster.log` and `muster.allow_stacks`, for code that runs in a task. This very file lies in the folder of each task
as `muster.zip`, so it needs nothing but Python. Nothing here stops, fails or delays a training.

Each call of `log` is a line of JSON, written at once, so that what was reported survives the process. Where an agent
collects the file `metrics` of the task's folder, it goes there; elsewhere it goes to the output of the task, from where
the server reads it.
"""

import faulthandler
import json
import os
import sys
import time
from typing import Any, Set

MARK = "muster.metrics "
"""How a line of the log begins that was meant for the file."""
_FILE = "metrics"
_MOST_BYTES = 64 << 20
_LONGEST_LINE = 60000
_TOUCH_EVERY_S = 1.0
STACKS_SIGNAL = 50
"""A real-time signal, which no program uses for itself."""
STACKS_FILE = "muster-stacks"
"""How a file in memory is named, before the process id of the one process that may be sent the signal."""


class _Writer:
    def __init__(self) -> None:
        self.step = 0
        self.is_open = False
        self.file = -1
        self.touched_at = 0.0
        self.warned: Set[str] = set()

    def write(self, line: bytes) -> None:
        folder = os.environ.get("MUSTER_TASK_DIR", "")
        if not folder:
            return  # nobody collects it: the program does not run as a task
        if not self.is_open:
            self.is_open = True
            try:
                self.file = os.open(os.path.join(folder, _FILE), os.O_WRONLY | os.O_APPEND)
            except OSError:
                self.file = -1
        if self.file < 0:
            os.write(1, MARK.encode("ascii") + line)
        elif os.fstat(self.file).st_size + len(line) <= _MOST_BYTES:
            os.write(self.file, line)
            self._touch()
        else:
            self.warn("full", "the metrics of this task take {} MiB; no more are kept".format(_MOST_BYTES >> 20))

    def _touch(self) -> None:
        """Change the folder's time, because its watchers are not told of every write."""
        now = time.time()
        if not 0.0 <= now - self.touched_at < _TOUCH_EVERY_S:
            self.touched_at = now
            os.utime(self.file)

    def warn(self, about: str, message: str) -> None:
        if about not in self.warned:
            self.warned.add(about)
            sys.stderr.write("muster.log: {}\n".format(message))


_writer = _Writer()


def log(step: Any = None, **values: Any) -> None:
    """Report metrics of this job: `muster.log(step=10, loss=0.25)`. Without `step`, it is one more than that of the
    call before. Names that are no Python names go as `muster.log(10, **{"val/acc": 0.9})`."""
    try:
        number = _writer.step + 1 if step is None else int(step)
        _writer.step = number
        told = {}
        for name, value in values.items():
            try:
                told[name] = float(value)
            except (TypeError, ValueError):
                _writer.warn(name, "{} is not a number, and is not kept: {!r}".format(name, value)[:300])
        if told:
            report = {"step": number, "time": round(time.time(), 3), "metrics": told}
            line = json.dumps(report).encode("ascii") + b"\n"
            if len(line) <= _LONGEST_LINE:
                _writer.write(line)
            else:
                _writer.warn("long", "too many metrics in one call; they are not kept")
    except Exception as error:  # a metric is never worth a training
        try:
            _writer.warn("failed", "not kept: {}".format(error))
        except Exception:
            pass


def allow_stacks() -> None:
    """Let `muster stacks` and alerts ask this process, and those that it forks, where its threads stand. Python itself
    answers, also while it waits in a library; nothing is interrupted. Outside of a task it does nothing."""
    try:
        if not os.environ.get("MUSTER_TASK_DIR") or _stacks.is_allowed:
            return
        _stacks.allow()
        os.register_at_fork(after_in_child=_stacks.allow)
        _stacks.is_allowed = True
    except Exception as error:  # a stack is never worth a training
        sys.stderr.write("muster.allow_stacks: {}\n".format(error))


class _Stacks:
    """The name of the file has the id of its process, and a fork gets a file of its own: a process between its fork and
    its exec, where the signal would kill it, is never asked."""

    def __init__(self) -> None:
        self.is_allowed = False
        self.file = -1

    def allow(self) -> None:
        before = self.file
        self.file = os.memfd_create("{}-{}".format(STACKS_FILE, os.getpid()))
        faulthandler.register(STACKS_SIGNAL, file=self.file, all_threads=True)
        if before >= 0:
            os.close(before)


_stacks = _Stacks()


def _prefer_installed() -> None:
    """This file comes before what is installed. If that has a `muster` of its own, the program gets that one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    others = [one for one in sys.path if os.path.abspath(one or os.curdir) != here]
    spec = PathFinder.find_spec("muster", others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["muster"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop("muster", None)
        raise


if __name__ == "muster":
    _prefer_installed()
