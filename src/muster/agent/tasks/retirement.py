"""Puts the folders of tasks aside whose end the server has recorded, so that a start reads live ones only.

What a task left in its working folder stays, under `ended`, until the server says `forget`; a folder with nothing in it
goes at once.
"""

from __future__ import annotations

import os
from typing import Sequence

from muster.agent.system import disk
from muster.agent.system.loop import Loop
from muster.agent.tasks import task_folder
from muster.agent.tasks.table import TaskBook


class Retiring:
    def __init__(self, loop: Loop, book: TaskBook, root: str) -> None:
        self._loop = loop
        self._book = book
        self._ended = os.path.join(root, "ended")
        self._trash = os.path.join(root, "trash")
        for folder in (self._ended, self._trash):
            os.makedirs(folder, 0o700, exist_ok=True)

    def empty_trash(self) -> None:
        """What an earlier agent had no time to remove."""
        for name in os.listdir(self._trash):
            self._remove(os.path.join(self._trash, name))

    def retire(self, uids: Sequence[str]) -> int:
        """Tasks that still run, or that nobody knows, are left alone. Answers how many were put aside."""
        aside = []
        for uid in uids:
            task = self._book.get(uid)
            if task is not None and task.over:
                folder = os.path.join(self._ended, uid)
                os.rename(task.folder, folder)
                self._book.remove(task)
                aside.append(folder)
        if aside:
            self._loop.run_blocking(lambda: _remove_bare(aside), lambda future: None)
        return len(aside)

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

    def _remove(self, folder: str) -> None:
        self._loop.run_blocking(lambda: disk.remove_tree(folder), lambda future: None)


def _remove_bare(retired: Sequence[str]) -> None:
    for folder in retired:
        try:
            os.rmdir(os.path.join(folder, task_folder.WORK))
        except FileNotFoundError:
            pass  # it never came to having one
        except OSError:
            continue  # not empty: somebody may want what is there
        disk.remove_tree(folder)
