"""`muster.log` and `muster.allow_stacks`, for code that runs in a task. This very file lies in the folder of each task
as `muster.zip`, so it needs nothing but Python. Nothing here stops, fails or delays a training.

Each call of `log` is a line of JSON, written at once, so that what was reported survives the process. Where an agent
collects the file `metrics` of the task's folder, it goes there; elsewhere it goes to the output of the task, from where
the server reads it.
"""

import atexit
import faulthandler
import json
import math
import os
import sys
import time
from typing import Any, Dict, List, Set, Tuple

MARK = "muster.metrics "
"""How a line of the log begins that was meant for the file."""
_FILE = "metrics"
_MOST_BYTES = 64 << 20
_SPARING_FROM = 48 << 20
"""From this size on, calls are summed up, so that the file has room for the rest of a long training."""
_SPARED_EVERY_S = 1.0
_SPARED_PART = 1 / 200
"""Two lines of a name are at least this part of the time since then apart."""
_MOST_SPARED = 10000
"""So many names are summed up; the server keeps far fewer."""
_LONGEST_LINE = 60000
_LONGEST_NAME = 250
_MOST_STEP = (1 << 53) - 1
_MOST_WARNINGS = 50
_TOUCH_EVERY_S = 1.0
STACKS_SIGNAL = 50
"""A real-time signal, which no program uses for itself."""
STACKS_FILE = "muster-stacks"
"""How a file in memory is named, before the process id of the one process that may be sent the signal."""


_Point = Tuple[int, float, float]
"""Step, time and value."""


class _Writer:
    def __init__(self) -> None:
        self.step = 0
        self.is_open = False
        self.file = -1
        self.touched_at = 0.0
        self.warned: Set[str] = set()
        self.summing = _Summing()

    def report(self, step: int, values: Dict[str, float]) -> None:
        now = round(time.time(), 3)
        if self.summing.began_at is None:
            line = _line(step, now, values)
            if len(line) <= _LONGEST_LINE:
                self.write(line)
            else:
                self.warn("long", "too many metrics in one call; they are not kept")
            return
        for name, value in values.items():
            self.summing.add(name, (step, now, value))
        for name in values:
            self._write_points(name, self.summing.due(name, now))

    def write_rest(self) -> None:
        """What was summed up and is not written yet."""
        for name in list(self.summing.waiting):
            self._write_points(name, self.summing.taken(name))

    def _write_points(self, name: str, points: List[_Point]) -> None:
        for step, at, value in points:
            self.write(_line(step, at, {name: value}))

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
            return
        size = os.fstat(self.file).st_size + len(line)
        if size > _MOST_BYTES:
            self.warn("full", "the metrics of this task take {} MiB; no more are kept".format(_MOST_BYTES >> 20))
            return
        os.write(self.file, line)
        self._touch()
        if size > _SPARING_FROM and self.summing.began_at is None:
            self._begin_summing()

    def _begin_summing(self) -> None:
        self.summing.began_at = time.time()
        atexit.register(_quietly, self.write_rest)
        message = "the metrics of this task take {} MiB: from now on, the lowest, highest and last value of a while"
        self.warn("many", (message + " are kept").format(_SPARING_FROM >> 20))

    def _touch(self) -> None:
        """Change the folder's time, because its watchers are not told of every write."""
        now = time.time()
        if not 0.0 <= now - self.touched_at < _TOUCH_EVERY_S:
            self.touched_at = now
            os.utime(self.file)

    def warn(self, about: str, message: str) -> None:
        if about not in self.warned and len(self.warned) < _MOST_WARNINGS:
            self.warned.add(about)
            sys.stderr.write("muster.log: {}\n".format(message))


class _Summing:
    """The points of each name that wait to be written: the lowest, the highest and the last one, which are those that
    the history has of a name."""

    def __init__(self) -> None:
        self.began_at: Any = None
        """The time from which on calls are summed up; None before that."""
        self.waiting: Dict[str, List[_Point]] = {}
        self.written_at: Dict[str, float] = {}

    def add(self, name: str, point: _Point) -> None:
        known = self.waiting.get(name)
        if known is None:
            if len(self.waiting) < _MOST_SPARED:
                self.waiting[name] = [point] * 3
            return
        low, high, last = known
        if math.isfinite(point[2]):
            low = point if not math.isfinite(low[2]) or point[2] < low[2] else low
            high = point if not math.isfinite(high[2]) or point[2] > high[2] else high
        self.waiting[name] = [low, high, point if point[:2] >= last[:2] else last]

    def due(self, name: str, now: float) -> List[_Point]:
        """The points of a name, if its last ones are old enough."""
        apart = max(_SPARED_EVERY_S, (now - self.began_at) * _SPARED_PART)
        if 0.0 <= now - self.written_at.get(name, 0.0) < apart:
            return []
        if len(self.written_at) < _MOST_SPARED or name in self.written_at:
            self.written_at[name] = now
        return self.taken(name)

    def taken(self, name: str) -> List[_Point]:
        return sorted(set(self.waiting.pop(name, [])), key=lambda point: point[:2])


def _line(step: int, at: float, values: Dict[str, float]) -> bytes:
    return json.dumps({"step": step, "time": at, "metrics": values}).encode("ascii") + b"\n"


def _name_problem(name: str) -> str:
    if not name.strip():
        return "a metric needs a name"
    if len(name) > _LONGEST_NAME:
        return "a name has at most {} characters".format(_LONGEST_NAME)
    return "" if name.isprintable() else "it has characters that cannot be printed"


def _quietly(call: Any, *given: Any) -> None:
    """A metric is never worth a training."""
    try:
        call(*given)
    except Exception as error:
        try:
            _writer.warn(str(error)[:100], "not kept: {}".format(error))
        except Exception:
            pass


_writer = _Writer()


def log(step: Any = None, **values: Any) -> None:
    """Report metrics of this job: `muster.log(step=10, loss=0.25)`. Without `step`, it is one more than that of the
    call before. Names that are no Python names go as `muster.log(10, **{"val/acc": 0.9})`."""
    _quietly(_log, step, values)


def _log(step: Any, values: Dict[str, Any]) -> None:
    number = _writer.step + 1 if step is None else int(step)
    if abs(number) > _MOST_STEP:
        _writer.warn("step", "a step is at most {}, and {} is not kept".format(_MOST_STEP, str(number)[:50]))
        return
    _writer.step = number
    told: Dict[str, float] = {}
    for name, value in values.items():
        problem = _name_problem(name)
        if problem:
            _writer.warn(name, "{!r} is not kept: {}".format(name[:50], problem))
            continue
        try:
            told[name] = float(value)
        except Exception:  # what a tensor of several values raises is its own affair, and no matter of the others
            _writer.warn(name, "{} is not a number, and is not kept: {!r}".format(name, value)[:300])
    if told:
        _writer.report(number, told)


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
