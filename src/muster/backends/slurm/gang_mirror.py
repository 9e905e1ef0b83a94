"""The server's copy of what the login node knows of its gangs, kept up to date by what has changed."""

from collections.abc import Mapping
from typing import Any

from muster.backends.slurm.gang_marks import GangMarks, read_gang


class GangMirror:
    def __init__(self) -> None:
        self.gangs: dict[str, GangMarks] = {}
        self._table = ""
        self._version = 0

    def asked(self) -> dict[str, Any]:
        """What the next request says of the last answer."""
        return {"table": self._table, "version": self._version}

    def take(self, answer: Mapping[str, Any]) -> None:
        if answer["is_all"]:
            self.gangs.clear()
        for told in answer["gangs"]:
            self.gangs[str(told["key"])] = read_gang(told)
        for key in answer["gone"]:
            self.gangs.pop(key, None)
        self._table, self._version = str(answer["table"]), int(answer["version"])
