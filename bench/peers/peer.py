"""The seam every peer stands behind."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.measuring import Footprint


class PeerAbsent(Exception):
    """This peer cannot be had here; the message says why and what would help."""


class PeerFailed(Exception):
    """The peer was there but did not do what it was asked."""


@dataclass(frozen=True)
class Command:
    """One command of a peer's own command line, to be weighed by its CPU time."""

    label: str
    arguments: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)


class Peer(Protocol):
    """One system, driven by its own client. Calls come one at a time, between `start` and `stop`."""

    name: str
    method: str
    many: int
    """How many jobs `run_many` is asked for: 1,000, or fewer where that would take minutes."""

    def start(self) -> None:
        """Install what is missing and bring the system up; PeerAbsent when that is not possible here."""

    def stop(self) -> None:
        """End every process that was started, by pid. Safe to call at any time, also twice."""

    def version(self) -> str: ...

    def submit_to_start(self, count: int) -> list[float]:
        """Seconds from just before the client call to the clock the job writes, one job after another."""

    def run_many(self, count: int) -> float:
        """Jobs per second, submitted one by one, until the last one has done its work."""

    def idle(self, window_s: float) -> Footprint: ...

    def pids(self) -> Sequence[int]:
        """The roots of its process trees."""

    def commands(self) -> Sequence[Command]: ...
