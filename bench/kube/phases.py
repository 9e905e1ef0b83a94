"""The phases that every job's status went through, from a watch: no change is missed between two looks."""

import contextlib
import json
import threading
import time
from itertools import pairwise
from types import TracebackType
from typing import Self

import httpx

from tests.parts.kube import Kube, Refused

_ORDER = {"": 0, "Pending": 1, "Starting": 2, "Running": 3, "Completed": 4, "Succeed": 4, "Failed": 4}
_ENDS = frozenset({"Completed", "Succeed", "Failed"})


class PhaseWatch:
    """Follows the jobs of a namespace while it is open."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        self._kube = kube
        self._path = f"/apis/batch.paddlepaddle.org/v1/namespaces/{namespace}/paddlejobs?watch=1"
        self._phases: dict[str, list[str]] = {}
        self._ended_at: dict[str, float] = {}
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()

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

    def _follow(self) -> None:
        while not self._closing.wait(0.2):
            with contextlib.suppress(Refused, httpx.HTTPError):  # a resource that is new is not served at once
                for line in self._kube.lines(self._path):
                    event = json.loads(line)
                    if event["type"] in ("ADDED", "MODIFIED"):
                        self._note(event["object"])
                    if self._closing.is_set():
                        return

    def _note(self, job: dict[str, dict[str, str]]) -> None:
        name, phase = job["metadata"]["name"], job.get("status", {}).get("phase", "")
        with self._changed:
            seen = self._phases.setdefault(name, [])
            if not seen or seen[-1] != phase:
                seen.append(phase)
            if phase in _ENDS and name not in self._ended_at:
                self._ended_at[name] = time.monotonic()
                self._changed.notify_all()
