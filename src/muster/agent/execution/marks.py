"""The mark in the environment of a command, by which its processes are found wherever they have gone.

Each agent has marks of its own, so that the commands of an earlier one, which could not end them itself, are known.
"""

from __future__ import annotations

import os

from muster.agent.system.loop import Loop
from muster.agent.system.processes import EXEC_MARK, kill_all, marked

_LAST_LOOKS = 10


class Marks:
    def __init__(self, loop: Loop, root: str) -> None:
        self._loop = loop
        self._all = os.path.join(root, "exec")
        self._own = os.path.join(self._all, os.urandom(8).hex())
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return os.path.join(self._own, str(self._count))

    def sweep(self) -> None:
        """End the commands of an earlier agent."""
        self._loop.run_blocking(
            lambda: kill_all(marked(self._all, but=self._own, variable=EXEC_MARK)), lambda done: None
        )


def end_marked(mark: str) -> None:
    """End processes that left the command's session, and those that they start meanwhile."""
    for _ in range(_LAST_LOOKS):
        left = marked(mark, variable=EXEC_MARK)
        if not left:
            return
        kill_all(left)
