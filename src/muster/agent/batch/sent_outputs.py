"""Sends the outputs of a task whose folder the login node does not see: file by file, in pieces, over the gang's
connection. See `kept_outputs` for the other end.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Sequence, Tuple

from muster.agent.batch.relayed import Ask
from muster.agent.errors import AgentError
from muster.agent.files.pieces import version
from muster.agent.tasks.outputs import Found, Pattern, find, read

_PIECE_BYTES = 512 << 10
"""Marks of other tasks wait for the piece that is on its way, so pieces are small."""
_NAMES_BYTES = 1 << 20
"""How much is told of the names of files that were left out."""
NO_TIME = "the job was ended before they were sent"
_NOBODY = "the coordinator of the job is gone"


class _Stopped(Exception):
    """Nothing more can be sent."""


class SentOutputs:
    """`is_in_time` is asked before each piece: whether there is still time for it."""

    def __init__(self, task: str, work: str, ask: Ask, is_in_time: Callable[[], bool]) -> None:
        self._task = task
        self._work = work
        self._ask = ask
        self._is_in_time = is_in_time
        self._left_out: List[str] = []
        self._lost: Dict[str, str] = {}

    def send(self, patterns: Sequence[str]) -> None:
        """Send what matches, and at last what was not sent, and why."""
        found = find(self._work, [Pattern(text) for text in patterns])
        paths = sorted(found.files)
        why = ""
        for place, path in enumerate(paths):
            try:
                self._send_file(path, found.files[path])
            except _Stopped as stopped:
                why = _told(paths[place:], str(stopped))
                break
        self._tell(found, "; ".join([*(_told([path], why) for path, why in self._lost.items()), *filter(None, [why])]))

    def _send_file(self, path: str, status: os.stat_result) -> None:
        offset, size = 0, status.st_size
        while True:
            try:
                piece = read(self._work, path, offset, _PIECE_BYTES, version(status))
            except AgentError as error:
                self._lost[path] = error.message
                return
            answer = self._piece(path, offset, size, max(0.0, status.st_mtime), piece["data"])
            if not answer["taken"]:
                self._left_out.append(path)
                return
            offset += len(piece["data"])
            if offset >= size or not piece["data"]:
                return

    def _piece(self, path: str, offset: int, size: int, mtime: float, data: bytes) -> Dict[str, Any]:
        if not self._is_in_time():
            raise _Stopped(NO_TIME)
        answer = self._ask(
            {
                "what": "output",
                "task": self._task,
                "path": path,
                "offset": offset,
                "size": size,
                "mtime": mtime,
                "data": data,
            }
        )
        if "taken" not in answer:
            raise _Stopped(str(answer.get("problem") or _NOBODY))
        return answer

    def _tell(self, found: Found, problem: str) -> None:
        names, more = _within(self._left_out, _NAMES_BYTES)
        told = {"left_out": names, "skipped": found.skipped + more, "too_deep": found.too_deep, "problem": problem}
        self._ask({"what": "outputs", "task": self._task, **told})


def _within(names: Sequence[str], most: int) -> Tuple[List[str], int]:
    """Return the first names that fit, and how many do not."""
    kept: List[str] = []
    for name in names:
        most -= len(name.encode("utf-8"))
        if most < 0:
            break
        kept.append(name)
    return kept, len(names) - len(kept)


def _told(paths: Sequence[str], why: str) -> str:
    more = " and {} more".format(len(paths) - 1) if len(paths) > 1 else ""
    return "{}{} could not be sent to the login node: {}".format(paths[0], more, why)
