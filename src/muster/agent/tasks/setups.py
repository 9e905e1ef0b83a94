"""The folders of setups on this node: one per user and key, shared by all tasks of theirs with the same setup.

The script that runs before a task's command prepares the content (`muster.launch.setup_script`), with the rights of the
task. Here the folders are made, given to the account of the task, and removed: those that are not kept with their last
task, the others when they are old or too large together, and never one that a live task uses. An entry is first moved
away, so that a task that comes meanwhile finds either all of it or nothing. The entry itself stays the agent's: an
account has two folders in it, one for the content and one for the state of each task.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import Future
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from muster.agent.isolation.accounts import Account
from muster.agent.system import disk
from muster.agent.system.loop import Loop
from muster.agent.system.removal import remove_tree
from muster.agent.tasks.setup_order import CONTENT, FOLDER, TASKS, SetupOrder, entry_name
from muster.agent.tasks.table import Task, TaskBook

_TRASH = "trash"
_DISK_SHARE = 0.2

Work = Callable[[], Dict[str, Any]]


class _Entry(NamedTuple):
    used_at: float
    path: str
    size: int


class Setups:
    def __init__(self, loop: Loop, root: str, book: TaskBook) -> None:
        self._loop = loop
        self._book = book
        self._folder = os.path.join(root, FOLDER)
        self._trash = os.path.join(root, _TRASH)
        self._is_tidying = False
        self._sizes: Dict[str, Tuple[int, int]] = {}
        """When the content of each entry last changed, and the bytes that it had then."""
        os.makedirs(self._folder, 0o700, exist_ok=True)

    def provide(self, uid: str, order: SetupOrder, account: Optional[Account]) -> None:
        """Make the folder in which the task prepares or finds what it needs. Called on the loop, where it is also
        decided which ones are removed."""
        content = os.path.join(order.entry, CONTENT)
        if _owner_of(content) not in (None, _uid(account)):
            self._remove(order.entry)  # the user has another account now
        for folder in (os.path.dirname(order.entry), order.entry, os.path.join(order.entry, TASKS)):
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, 0o711)
        for folder in (content, os.path.join(order.entry, TASKS, uid)):
            _make_for(folder, account)
        os.utime(order.entry)

    def ended(self, task: Task) -> None:
        """The task uses its setup no longer."""
        order = task.setup
        if order is None:
            return
        own = os.path.join(order.entry, TASKS, task.uid)
        self._loop.run_blocking(lambda: remove_tree(own), lambda done: None)
        if not order.entry.startswith(self._folder + os.sep):
            return  # it is in the folder of the task, and goes with that
        if not order.is_kept and order.entry not in self._in_use():
            self._remove(order.entry)
            return
        try:
            os.utime(order.entry)
        except OSError:
            pass  # it was dropped
        self._tidy(order)

    def operations(self) -> Dict[str, Callable[[Mapping[str, Any]], Work]]:
        return {"setups": self._list, "drop_setups": self._drop}

    def _list(self, request: Mapping[str, Any]) -> Work:
        used = self._in_use()
        return lambda: {"setups": [_described(one, self._folder, one.path in used) for one in sorted(self._entries())]}

    def _drop(self, request: Mapping[str, Any]) -> Work:
        """Remove one entry, all of one user, or all of them; but none that a task uses."""
        used, name = self._in_use(), entry_name(request)
        wanted = [path for path in self._paths() if _is_at_or_below(path, os.path.join(self._folder, name))]
        moved = [self._moved_away(path) for path in wanted if path not in used]

        def removed() -> Dict[str, Any]:
            for path in moved:
                remove_tree(path)
            return {"dropped": len(moved), "in_use": len(wanted) - len(moved)}

        return removed

    def _tidy(self, order: SetupOrder) -> None:
        """Remove what is old, and then what was not used for longest, until the rest is small enough."""
        if self._is_tidying:
            return
        self._is_tidying = True

        def found(done: Future[List[_Entry]]) -> None:
            self._is_tidying = False
            if done.exception() is None:
                for path in self._superfluous(done.result(), order):
                    self._remove(path)

        self._loop.run_blocking(lambda: list(self._entries()), found)

    def _superfluous(self, entries: List[_Entry], order: SetupOrder) -> Iterator[str]:
        used = self._in_use()
        filesystem = os.statvfs(self._folder)
        limit = min(order.most_bytes, int(filesystem.f_blocks * filesystem.f_frsize * _DISK_SHARE))
        excess = sum(one.size for one in entries) - limit
        for one in sorted(entries):
            is_old = one.used_at < time.time() - order.most_age_s
            if one.path not in used and (is_old or excess > 0):
                excess -= one.size
                yield one.path

    def _in_use(self) -> FrozenSet[str]:
        return frozenset(task.setup.entry for task in self._book if task.setup is not None and not task.over)

    def _paths(self) -> Iterator[str]:
        for owner in _folders(self._folder):
            yield from _folders(owner)

    def _entries(self) -> Iterator[_Entry]:
        for path in self._paths():
            try:
                used_at = os.stat(path, follow_symlinks=False).st_mtime
                changed_at = os.stat(os.path.join(path, CONTENT), follow_symlinks=False).st_mtime_ns
            except FileNotFoundError:
                continue
            if self._sizes.get(path, (0, 0))[0] != changed_at:
                self._sizes[path] = (changed_at, disk.size_of(path))
            yield _Entry(used_at, path, self._sizes[path][1])

    def _remove(self, path: str) -> None:
        moved = self._moved_away(path)
        self._loop.run_blocking(lambda: remove_tree(moved), lambda done: None)

    def _moved_away(self, path: str) -> str:
        self._sizes.pop(path, None)
        target = os.path.join(self._trash, "setup.{}".format(os.urandom(8).hex()))
        try:
            os.rename(path, target)
        except FileNotFoundError:
            pass
        return target


def make_in_task_folder(uid: str, order: SetupOrder) -> None:
    """Makes the folders for the task helper, which gives them to the account. The agent only reads the state there."""
    for folder in (os.path.join(order.entry, CONTENT), os.path.join(order.entry, TASKS, uid)):
        os.makedirs(folder, 0o755, exist_ok=True)


def _make_for(folder: str, account: Optional[Account]) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return
    if account is not None:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)


def _owner_of(folder: str) -> Optional[int]:
    try:
        return os.stat(folder, follow_symlinks=False).st_uid
    except FileNotFoundError:
        return None


def _uid(account: Optional[Account]) -> int:
    return os.getuid() if account is None else account.uid


def _folders(path: str) -> List[str]:
    try:
        with os.scandir(path) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _is_at_or_below(path: str, folder: str) -> bool:
    return (path + os.sep).startswith(folder.rstrip(os.sep) + os.sep)


def _described(one: _Entry, folder: str, is_used: bool) -> Dict[str, Any]:
    owner, key = os.path.relpath(one.path, folder).split(os.sep)
    return {"owner": owner, "key": key, "bytes": one.size, "used_at": one.used_at, "in_use": is_used}
