"""The server's copy of what the login node knows of its gangs, kept up to date by what has changed."""

from collections.abc import Mapping
from typing import Any

from muster.backends.slurm.gang_marks import GangMarks, read_gang


class GangMirror:
    """`owner` is the user by whose login they were submitted, if users have logins."""

    def __init__(self, owner: str = "") -> None:
        self._owner = owner
        self.gangs: dict[str, GangMarks] = {}
        self._table = ""
        self._version = 0

    @property
    def is_known(self) -> bool:
        """Whether the login node has told which there are."""
        return bool(self._table)

    def running(self) -> dict[str, str]:
        """The tasks that run, with their nodes."""
        tasks = (task for gang in self.gangs.values() for task in gang.tasks)
        return {task.task_id: task.begin.node for task in tasks if task.begin is not None and task.end is None}

    def asked(self) -> dict[str, Any]:
        """What the next request says of the last answer."""
        return {"table": self._table, "version": self._version}

    def take(self, answer: Mapping[str, Any]) -> None:
        if answer["is_all"]:
            self.gangs.clear()
        for told in answer["gangs"]:
            self.gangs[str(told["key"])] = read_gang(told, self._owner)
        for key in answer["gone"]:
            self.gangs.pop(key, None)
        self._table, self._version = str(answer["table"]), int(answer["version"])
