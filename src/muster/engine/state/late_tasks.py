"""Tasks of attempts that are over, which backends have reported nevertheless and which are still to be handled."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from muster.ports.backend import Observation

_MOST = 10_000
"""What a cluster reports beyond this is found by a later reconciliation."""
_AT_ONCE = 8


@dataclass(slots=True)
class LateTasks:
    """What is left to do of each cluster, so that one that reports very much delays no other."""

    _waiting: defaultdict[str, dict[str, Observation]] = field(default_factory=lambda: defaultdict(dict))
    _workers: Counter[str] = field(default_factory=Counter)

    def add(self, cluster: str, observation: Observation) -> bool:
        """Whether one more worker may begin, which then takes until there is nothing left. Of each task, the newest
        observation counts."""
        waiting = self._waiting[cluster]
        if observation.task_id in waiting or len(waiting) < _MOST:
            waiting[observation.task_id] = observation
        if self._workers[cluster] >= min(_AT_ONCE, len(waiting)):
            return False
        self._workers[cluster] += 1
        return True

    def take(self, cluster: str) -> Observation | None:
        """Returns None if nothing is left, with which the worker ends."""
        waiting = self._waiting[cluster]
        if waiting:
            return waiting.pop(next(iter(waiting)))
        self._workers[cluster] -= 1
        return None
