"""A task as the agent sees it now, and the book of all of them.

A Task is a view of its folder. Only `settling` moves it to its end; nobody else assigns a final phase.
"""

from __future__ import annotations

import os
import stat
import time
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

from muster.agent.errors import UNKNOWN_TASK, AgentError
from muster.agent.system.loop import Timer
from muster.agent.system.processes import Identity, Target
from muster.agent.tasks.masking import Masks
from muster.agent.tasks.metric_file import metrics_bytes
from muster.agent.tasks.records import signal_of
from muster.agent.tasks.setup_order import SetupOrder
from muster.agent.tasks.task_folder import CHECKPOINT, LOG, TRACKING
from muster.agent.tasks.task_scripts import TaskScripts

PREPARING = "preparing"
RUNNING = "running"
ENDED = "ended"
LOST = "lost"
LONGEST_TRACKING = 2100


class Task:
    is_remote = False

    def __init__(
        self,
        uid: str,
        folder: str,
        ports: Tuple[int, ...] = (),
        groups: Tuple[str, ...] = (),
        digests: Tuple[str, ...] = (),
        log_limit: Optional[int] = None,
        account: Optional[int] = None,
    ) -> None:
        self.uid = uid
        self.folder = folder
        self.ports = ports
        self.groups = groups  # folders of the control groups made for it
        self.digests = digests  # of the package and the inputs that it needs on this node
        self.log_limit = log_limit  # in bytes
        self.account = account  # the number of the account that it runs under, if that is not the agent's
        self.scripts: Optional[TaskScripts] = None  # of the admin, around it
        self.node_problem = ""  # what its end says about the node: that the epilog failed
        self.phase = PREPARING
        self.end_phase: Optional[str] = None  # what it has come to; `phase` says so once its epilog has run
        self.pid: Optional[int] = None
        self.identity: Optional[Identity] = None  # of the leader of its session
        self.shim: Optional[Identity] = None  # of an earlier agent, which started it; None when it is our own
        self.has_supervisor = False  # the leader is a supervisor of an older agent, which records the exit
        self.started_at: Optional[float] = None
        self.ended_at: Optional[float] = None
        self.exit_code: Optional[int] = None
        self.oom = False
        self.disk_full = False  # when it ended badly
        self.stopped = False
        self.error: Optional[AgentError] = None
        self.left_behind = True  # perhaps: processes that outlived their command
        self.under_way = False  # this very agent is unpacking for it or has ordered its start
        self.stop_deadline: Optional[float] = None
        self.stop_timer: Optional[Timer] = None
        self.used: Optional[Dict[str, Any]] = None  # what it has used, once it has ended
        self.masks: Optional[Masks] = None  # of its secrets, for what is read of its log
        self.setup: Optional[SetupOrder] = None  # what prepares the node before its command

    @property
    def over(self) -> bool:
        return self.end_phase is not None or self.phase in (ENDED, LOST)

    @property
    def in_grace(self) -> bool:
        """The task was asked to stop, and its grace period has not passed yet."""
        return self.stop_deadline is not None and time.time() < self.stop_deadline

    @property
    def target(self) -> Target:
        return Target(self.uid, self.folder, self.identity, self.has_supervisor, self.account, self.groups)

    def log_bytes(self) -> int:
        return readable_log_bytes(self.folder, None if self.over else self.masks)

    @property
    def in_setup(self) -> bool:
        """The task runs, but not its command yet."""
        return self.setup is not None and self.phase == RUNNING and not self.setup.is_ready(self.uid)

    def checkpoint_at(self) -> Optional[float]:
        """Returns the time at which the task last reported a checkpoint, or None."""
        try:
            return os.stat(os.path.join(self.folder, CHECKPOINT), follow_symlinks=False).st_mtime or None
        except OSError:
            return None

    def tracking_url(self) -> str:
        """Returns the first line of what the task wrote as its address. It may have replaced the file by anything."""
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(os.path.join(self.folder, TRACKING), flags)
        except OSError:
            return ""
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            return os.read(descriptor, LONGEST_TRACKING).decode("utf-8", "replace").split("\n", 1)[0].strip()
        except OSError:
            return ""
        finally:
            os.close(descriptor)

    def status(self) -> Dict[str, Any]:
        return {
            "task": self.uid,
            "phase": PREPARING if self.in_setup else self.phase,
            "pid": self.pid,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "exit_code": self.exit_code,
            "signal": None if self.exit_code is None else signal_of(self.exit_code),
            "oom": self.oom,
            "disk_full": self.disk_full,
            "stopped": self.stopped,
            "error": None if self.error is None else {"code": self.error.code, "message": self.error.message},
            "node_problem": self.node_problem,
            "log_bytes": self.log_bytes(),
            "checkpoint_at": self.checkpoint_at(),
            "tracking_url": self.tracking_url(),
            "metrics_bytes": metrics_bytes(self.folder),
            "used": self.used,
        }


def readable_log_bytes(folder: str, masks: Optional[Masks]) -> int:
    """The size of the log as far as it can be read. While its task runs and has secrets, the beginning of one at the
    end of the log cannot."""
    path = os.path.join(folder, LOG)
    try:
        size = os.stat(path, follow_symlinks=False).st_size
        if masks is None:
            return size
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        return readable_bytes(fd, size, masks)
    except OSError:
        return 0
    finally:
        os.close(fd)


def readable_bytes(log: int, size: int, masks: Masks) -> int:
    start = max(0, size - masks.margin)
    return size - masks.begun(os.pread(log, size - start, start))


class TaskBook:
    """All tasks whose folders exist. Whoever changes a phase says so with `changed`."""

    def __init__(self, tasks_folder: str, on_change: Callable[[Task], None]) -> None:
        self._folder = tasks_folder
        self._tasks: Dict[str, Task] = {}
        self._on_change = on_change

    def __iter__(self) -> Iterator[Task]:
        return iter(list(self._tasks.values()))

    def folder_of(self, uid: str) -> str:
        return os.path.join(self._folder, uid)

    def get(self, uid: str) -> Optional[Task]:
        return self._tasks.get(uid)

    def require(self, uid: str) -> Task:
        task = self._tasks.get(uid)
        if task is None:
            raise AgentError(UNKNOWN_TASK, "this node has no task {}".format(uid))
        return task

    def add(self, task: Task) -> None:
        self._tasks[task.uid] = task

    def remove(self, task: Task) -> None:
        self._tasks.pop(task.uid, None)

    def changed(self, task: Task) -> None:
        self._on_change(task)
