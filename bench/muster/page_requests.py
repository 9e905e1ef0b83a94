"""What a real page asks the server for besides its stream, and when: as the portal does (`portal/src/api/pacing.ts`).

A list has its jobs counted again half a minute to a minute after it has counted changes itself, and asks for its first
page again when the stream leaves jobs out. The page of a job asks why it waits or failed when that changes, and for
its tasks when it begins an attempt. The bell of every page asks for alerts when the stream says that some have changed.
"""

import heapq
import random
import socket
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

COUNT = "/api/v1/jobs?members=none&limit=1&total=true"
LIST = "/api/v1/jobs?members=none&limit=200"
ALERTS = "/api/v1/alerts?mine=true&limit=20"
HINTS = {"jobs": (LIST, COUNT), "alerts": (ALERTS,)}
"""By topic, what is asked for when the stream says that it is worth it."""
EXPLAINED = frozenset({"Queued", "Held", "Failed"})


@dataclass(frozen=True)
class Pace:
    spread_s: float = 0.0
    after_s: float = 0.0
    every_s: float = 0.0


AT_ONCE = Pace()
SOON = Pace(spread_s=2.0, every_s=2.0)
COUNT_AGAIN = Pace(spread_s=30.0, after_s=30.0)
SOME_TIME_OPEN = Pace(spread_s=45.0)
"""A page that was opened long ago is somewhere between two counts."""


@dataclass(eq=False)
class Asking:
    """What one page asks for, one after another, on a connection of its own. The server closes it when it is idle."""

    connect: Callable[["Asking"], socket.socket]
    head: bytes
    """The lines of each request after the first."""
    connection: socket.socket | None = None
    left: deque[bytes] = field(default_factory=deque)
    answer: bytes = b""
    is_waiting: bool = False
    asked: int = 0
    refused: int = 0

    def ask(self, path: str) -> None:
        self.left.append(f"GET {path} HTTP/1.1\r\n".encode() + self.head)
        self._send()

    def receive(self, data: bytes) -> None:
        self.answer += data
        head, end, body = self.answer.partition(b"\r\n\r\n")
        if end and len(body) >= _length_of(head):
            self._is_answered(is_well=head.startswith(b"HTTP/1.1 200"))

    def is_closed(self) -> None:
        """The server has closed the connection."""
        self.connection = None
        if self.is_waiting:
            self._is_answered(is_well=False)

    def _is_answered(self, *, is_well: bool) -> None:
        self.asked += 1
        self.refused += not is_well
        self.answer, self.is_waiting = b"", False
        self._send()

    def _send(self) -> None:
        if self.left and not self.is_waiting:
            self.is_waiting = True
            self.connection = self.connection or self.connect(self)
            self.connection.sendall(self.left.popleft())


def _length_of(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))


class Agenda:
    """Which pages ask for what, and when. Whatever is asked for twice before its time is asked for once."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Asking, str, Pace]] = []
        self._planned: set[tuple[Asking, str]] = set()
        self._next_at: dict[tuple[Asking, str], float] = {}
        self._number = 0

    def plan(self, asking: Asking, path: str, pace: Pace, now: float) -> None:
        key = (asking, path)
        if key in self._planned:
            return
        self._planned.add(key)
        wait_s = max(pace.after_s, self._next_at.get(key, 0.0) - now) + random.random() * pace.spread_s
        self._number += 1
        heapq.heappush(self._due, (now + wait_s, self._number, asking, path, pace))

    def wait_s(self, now: float, most_s: float) -> float:
        return min(most_s, max(0.0, self._due[0][0] - now)) if self._due else most_s

    def take(self, now: float) -> Iterator[tuple[Asking, str]]:
        while self._due and self._due[0][0] <= now:
            _, _, asking, path, pace = heapq.heappop(self._due)
            self._planned.discard((asking, path))
            self._next_at[asking, path] = now + pace.every_s
            yield asking, path


@dataclass
class Follower:
    """What one page makes of a message of its stream."""

    asking: Asking
    job_id: str | None
    """None for a list."""
    shown: tuple[Any, ...] = ()
    attempt: int | None = None

    def note(self, agenda: Agenda, event: str, data: dict[str, Any], now: float) -> None:
        topics = data.get("topics", ()) if event == "changed" else ("jobs",) if event == "resync" else ()
        for topic in topics:
            if self.job_id is None or topic != "jobs":
                for path in HINTS.get(topic, ()):
                    agenda.plan(self.asking, path, SOON, now)
        if event == "jobs":
            agenda.plan(self.asking, COUNT, COUNT_AGAIN, now)
        elif event == "job" and data["job"]:
            self._note_job(agenda, data["job"], now)

    def _note_job(self, agenda: Agenda, job: dict[str, Any], now: float) -> None:
        before, self.shown = self.shown, (job["state"], job["reason"])
        if before != self.shown and (job["state"] in EXPLAINED or job["reason"]):
            agenda.plan(self.asking, f"/api/v1/jobs/{self.job_id}/explain", AT_ONCE, now)
        if self.attempt is not None and self.attempt != job["attempt"]:
            agenda.plan(self.asking, f"/api/v1/jobs/{self.job_id}/tasks", AT_ONCE, now)
        self.attempt = job["attempt"]
