"""The secrets of a task on this node: the files that it reads, and the values that are masked in its log.

Values lie on the disk while the task may need them, readable by its account and the agent's alone. The agent keeps its
own copy beside the task's records, because the agent that reads the log may be another one than the agent that launched
the task. When the task is over, the log is masked where it lies, and all copies are removed.
"""

from __future__ import annotations

import base64
import errno
import os
import stat
from concurrent.futures import Future
from typing import Callable, Mapping, Optional

from muster.agent.system import disk
from muster.agent.system.loop import Loop
from muster.agent.system.removal import remove_tree
from muster.agent.tasks import task_folder
from muster.agent.tasks.launch_request import SecretsOrder
from muster.agent.tasks.log_limits import Dropped, dropped_of
from muster.agent.tasks.masking import Masks
from muster.agent.tasks.table import Task

_WINDOW_BYTES = 1 << 20
_VALUES = "values"


class TaskSecrets:
    def __init__(self, loop: Loop, warn: Callable[[str], None]) -> None:
        self._loop = loop
        self._warn = warn

    def ended(self, task: Task) -> None:
        """The folder may be put aside meanwhile, so it is held open. `task.masks` stays: readers need it until the log
        is masked, and what is masked already is not masked again."""
        if task.masks is None:
            return
        masks = task.masks
        try:
            folder = os.open(task.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return  # a task that is not isolated has removed its own folder

        def masked(done: Future[None]) -> None:
            os.close(folder)
            error = done.exception()
            if error is not None:
                self._warn("the log of {} is not masked on this disk: {}".format(task.uid, error))

        self._loop.run_blocking(lambda: _mask_and_remove(folder, masks), masked)


def place(folder: str, order: SecretsOrder) -> Masks:
    """Write the files. What an earlier try left is replaced."""
    secrets = os.path.join(folder, task_folder.SECRETS)
    remove_tree(secrets)
    values = [base64.b64encode(value).decode("ascii") for value in order.masked]
    disk.write_json(os.path.join(folder, task_folder.MASKED), {_VALUES: values})
    if order.files:
        os.mkdir(secrets, 0o700)
    for path, value in order.files.items():
        _write(secrets, path, value)
    return Masks(order.masked)


def masks_of(folder: str) -> Optional[Masks]:
    """What an earlier agent left. None: the task has no secrets, or they are masked in its log already."""
    kept: Optional[Mapping[str, object]] = disk.read_json(os.path.join(folder, task_folder.MASKED))
    values = kept.get(_VALUES) if kept is not None else None
    return Masks(base64.b64decode(value) for value in values) if isinstance(values, list) else None


def _write(secrets: str, path: str, value: bytes) -> None:
    target = os.path.join(secrets, path)
    parent = secrets
    for part in path.split("/")[:-1]:
        parent = os.path.join(parent, part)
        if not os.path.isdir(parent):
            os.mkdir(parent, 0o700)
    disk.write(target, value)
    os.chmod(target, 0o400)


def _mask_and_remove(folder: int, masks: Masks) -> None:
    remove_tree(task_folder.SECRETS, folder)
    remove_tree(task_folder.SSH, folder)
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        log = os.open(task_folder.LOG, flags, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            raise
    else:
        try:
            if stat.S_ISREG(os.fstat(log).st_mode):
                mask_log(log, masks, dropped_of("/proc/self/fd/{}".format(folder), log))
        finally:
            os.close(log)
    try:
        os.unlink(task_folder.MASKED, dir_fd=folder)
    except FileNotFoundError:
        pass


def mask_log(log: int, masks: Masks, dropped: Optional[Dropped]) -> None:
    """What was dropped from the log is a hole, which is neither read nor filled."""
    if dropped is not None:
        mask_file(log, masks, 0, dropped.start)
    mask_file(log, masks, 0 if dropped is None else dropped.end, os.fstat(log).st_size)


def mask_file(file: int, masks: Masks, start: int, end: int, window_bytes: int = _WINDOW_BYTES) -> None:
    """Mask a part of a file where it lies, window by window. Each is looked at as the file was before anything was
    masked, and what is masked in it is written at once: a reader finds a secret whole, or finds it masked."""
    before, ahead, offset = b"", b"", start
    while offset < end:
        wanted = min(window_bytes + masks.margin, end - offset)
        data = ahead + os.pread(file, wanted - len(ahead), offset + len(ahead))
        if not data:
            return
        is_last = offset + len(data) >= end
        around = before + data
        masked = (masks.masked_to_end(around) if is_last else masks.masked(around))[len(before) :]
        if masked != data:
            with masks.lock:
                os.pwrite(file, masked, offset)
        before, ahead = (before + data[:window_bytes])[-masks.margin :], data[window_bytes:]
        offset += min(window_bytes, len(data))
