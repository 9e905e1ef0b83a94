"""The phases that every job's status went through, from a watch: no change is missed between two looks."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from tests.parts.following import Following
from tests.parts.kube import Kube

_ORDER = {"": 0, "Pending": 1, "Starting": 2, "Running": 3, "Completed": 4, "Succeed": 4, "Failed": 4}
_ENDS = frozenset({"Completed", "Succeed", "Failed"})


class PhaseWatch:
    def __init__(self) -> None:
        self._phases: dict[str, list[str]] = {}
        self._ended_at: dict[str, float] = {}
        self._changed = threading.Condition()

    def await_ends(self, count: int, timeout_s: float) -> float:
        """Wait until so many jobs have ended. Gives the time at which the last of them did."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while len(self._ended_at) < count:
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    raise TimeoutError(f"{len(self._ended_at)} of {count} jobs ended within {timeout_s:.0f} s")
            return max(self._ended_at.values())

    def backward(self) -> int:
        """How many times a job went back to an earlier phase."""
        with self._changed:
            return sum(
                _ORDER.get(later, 0) < _ORDER.get(earlier, 0)
                for phases in self._phases.values()
                for earlier, later in pairwise(phases)
            )

    def courses(self) -> set[tuple[str, ...]]:
        """The different courses that jobs took."""
        with self._changed:
            return {tuple(phases) for phases in self._phases.values()}

    def note(self, event: dict[str, Any]) -> None:
        if event["type"] not in ("ADDED", "MODIFIED"):
            return
        job = event["object"]
        name, phase = job["metadata"]["name"], job.get("status", {}).get("phase", "")
        with self._changed:
            seen = self._phases.setdefault(name, [])
            if not seen or seen[-1] != phase:
                seen.append(phase)
            if phase in _ENDS and name not in self._ended_at:
                self._ended_at[name] = time.monotonic()
                self._changed.notify_all()


@contextmanager
def watched_phases(kube: Kube, namespace: str) -> Iterator[PhaseWatch]:
    """Follows the jobs of a namespace while it is open."""
    phases = PhaseWatch()
    path = f"/apis/batch.paddlepaddle.org/v1/namespaces/{namespace}/paddlejobs?watch=1"
    with Following(kube, path, phases.note):
        yield phases
