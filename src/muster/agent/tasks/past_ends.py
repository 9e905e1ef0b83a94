"""How tasks ended that were put aside, one line each, so that a server whose database is older than them can ask.

The record is bounded, and losing its last lines in a power failure does no harm.
"""

from __future__ import annotations

import json
import os
from typing import AbstractSet, Any, Dict, List, Mapping, Sequence

_MOST_BYTES = 4 << 20


class PastEnds:
    def __init__(self, root: str, most_bytes: int = _MOST_BYTES) -> None:
        self._path = os.path.join(root, "past-ends")
        self._most_bytes = most_bytes

    def note(self, statuses: Sequence[Mapping[str, Any]]) -> None:
        if not statuses:
            return
        try:
            if os.path.getsize(self._path) > self._most_bytes:
                os.replace(self._path, self._path + ".1")
        except FileNotFoundError:
            pass
        with open(self._path, "a", encoding="utf-8") as file:
            os.chmod(self._path, 0o600)
            file.write("".join(json.dumps(status) + "\n" for status in statuses))

    def of_jobs(self, jobs: AbstractSet[str]) -> List[Dict[str, Any]]:
        """The last known ends of the tasks of these jobs."""
        found: Dict[str, Dict[str, Any]] = {}
        for path in (self._path + ".1", self._path):
            try:
                with open(path, encoding="utf-8") as file:
                    lines = file.readlines()
            except FileNotFoundError:
                continue
            for line in lines:
                try:
                    status = json.loads(line)
                except ValueError:
                    continue  # the line was being written when the power failed
                if status["task"].split(".")[0] in jobs:
                    found[status["task"]] = status
        return list(found.values())
