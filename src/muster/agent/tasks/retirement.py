"""Puts the folders of tasks aside whose end the server has recorded, so that a start reads live ones only.

What a task left in its working folder stays, under `ended`, until the server says `forget`. A folder with nothing in it
is removed once the node is quiet: removals slow down the launches that follow them, on some file systems tenfold (ext4
without a journal searches through all that was removed in the last minutes for every file it makes).
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Sequence

from muster.agent.system.loop import Loop
from muster.agent.system.removal import remove_tree
from muster.agent.tasks import task_folder
from muster.agent.tasks.past_ends import PastEnds
from muster.agent.tasks.table import ENDED, LOST, TaskBook

_QUIET_S = 60.0
_MOST_RETIRED = 4096


class Retiring:
    def __init__(
        self, loop: Loop, book: TaskBook, root: str, quiet_s: float = _QUIET_S, most_retired: int = _MOST_RETIRED
    ) -> None:
        self._loop = loop
        self._book = book
        self.past_ends = PastEnds(root)
        self._quiet_s = quiet_s
        self._most_retired = most_retired
        self._retired: List[str] = []  # not looked at yet for whether there is anything in them
        self._last_at = 0.0
        self._ended = os.path.join(root, "ended")
        self._trash = os.path.join(root, "trash")
        for folder in (self._ended, self._trash):
            os.makedirs(folder, 0o700, exist_ok=True)

    def clean_up_after_predecessor(self) -> None:
        """Remove what an earlier agent had no time to remove."""
        for name in os.listdir(self._trash):
            self._remove(os.path.join(self._trash, name))
        self._retired = [os.path.join(self._ended, name) for name in os.listdir(self._ended)]
        self._remove_empty()

    def retire(self, uids: Sequence[str]) -> int:
        """Tasks that still run, or that nobody knows, are left alone. Answers how many were put aside."""
        before = len(self._retired)
        statuses: List[Dict[str, Any]] = []
        for uid in uids:
            task = self._book.get(uid)
            if task is not None and task.phase in (ENDED, LOST):
                statuses.append(task.status())
                folder = os.path.join(self._ended, uid)
                os.rename(task.folder, folder)
                self._book.remove(task)
                self._retired.append(folder)
        self.past_ends.note(statuses)
        retired = len(self._retired) - before
        if len(self._retired) >= self._most_retired:
            self._remove_empty()
        elif retired:
            self._remove_empty_later(first=before == 0)
        return retired

    def forget(self, uid: str) -> None:
        task = self._book.get(uid)
        folder = os.path.join(self._ended, uid) if task is None else task.folder
        trash = os.path.join(self._trash, "{}.{}".format(uid, os.urandom(6).hex()))
        try:
            os.rename(folder, trash)
        except FileNotFoundError:
            pass
        if task is not None:
            self._book.remove(task)
        self._remove(trash)

    def _remove_empty_later(self, first: bool) -> None:
        self._last_at = time.monotonic()
        if first:
            self._loop.call_later(self._quiet_s, self._remove_empty_if_quiet)

    def _remove_empty_if_quiet(self) -> None:
        remaining_s = self._last_at + self._quiet_s - time.monotonic()
        if remaining_s > 0:
            self._loop.call_later(remaining_s, self._remove_empty_if_quiet)
        else:
            self._remove_empty()

    def _remove_empty(self) -> None:
        retired, self._retired = self._retired, []
        if retired:
            self._loop.run_blocking(lambda: _remove_empty(retired), lambda future: None)

    def _remove(self, folder: str) -> None:
        self._loop.run_blocking(lambda: remove_tree(folder), lambda future: None)


def _remove_empty(retired: Sequence[str]) -> None:
    for folder in retired:
        try:
            os.rmdir(os.path.join(folder, task_folder.WORK))
        except FileNotFoundError:
            pass  # it never came to having one
        except OSError:
            continue  # not empty: somebody may want what is there
        remove_tree(folder)
