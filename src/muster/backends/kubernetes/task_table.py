"""What is known about the tasks of a cluster beyond what their pods say: which Muster has stopped, and how those ended
whose pods are gone.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.backends.kubernetes.pod_state import disruption, is_leaving, observed, pull_error, task_of
from muster.domain.failures.container_failures import REGISTRY
from muster.lib.quantities import format_duration
from muster.ports.backend import Observation, Phase

_OVER = (Phase.ENDED, Phase.LOST)


@dataclass(slots=True)
class TaskTable:
    ordered: set[str] = field(default_factory=set)
    """Tasks that Muster has stopped."""
    ends: dict[str, Observation] = field(default_factory=dict)
    """How tasks ended, as it was first seen. A pod that is deleted afterwards changes nothing about it."""
    settled: set[str] = field(default_factory=set)
    """Tasks that nobody wants to know of any more, although their pods may still be there."""

    pull_timeout_s: float = math.inf
    """How long a node may fail to pull the image of a task before the task is given up."""
    clock: Callable[[], float] = time.time
    pulling: dict[str, float] = field(default_factory=dict)
    """The times since which nodes have failed to pull the images of tasks."""

    def observation(self, pod: Mapping[str, Any], lost_node: str = "") -> Observation | None:
        """What the pod says about its task; None for a task that is settled."""
        task = task_of(pod)
        if task in self.settled:
            return None
        if (end := self.ends.get(task)) is not None:
            return end
        found = observed(pod, ordered=task in self.ordered, lost_node=lost_node)
        if found.phase is Phase.WAITING:
            found = self._given_up(pod, found)
        else:
            self.pulling.pop(task, None)
        if found.phase is Phase.ENDED:
            self.ends[task] = found
        return found

    def _given_up(self, pod: Mapping[str, Any], found: Observation) -> Observation:
        """The end of a task whose image does not come."""
        words = pull_error(pod)
        if not words:
            self.pulling.pop(found.task_id, None)
            return found
        failed_s = self.clock() - self.pulling.setdefault(found.task_id, self.clock())
        if failed_s < self.pull_timeout_s:
            return found
        why = f"tried for {format_duration(failed_s)}: {words}"
        node = pod["spec"].get("nodeName")
        return Observation(found.task_id, Phase.ENDED, found.handle, node, error_code=REGISTRY, error_message=why)

    def gone(self, pod: Mapping[str, Any]) -> Observation | None:
        """What to say about a task whose pod does not exist any more."""
        seen = self.observation(pod)
        if seen is None or seen.phase in _OVER:
            return seen
        if seen.task_id in self.ordered:
            return self._ended(Observation(seen.task_id, Phase.ENDED, seen.handle, seen.node, stopped=True))
        why = disruption(pod) or "its pod was deleted in Kubernetes"
        return self._ended(Observation(seen.task_id, Phase.LOST, seen.handle, seen.node, error_message=why))

    def unknown(self, task: str) -> Observation:
        """What to say about a task that was stopped and has no pod."""
        return self.ends.get(task) or Observation(task, Phase.ENDED, stopped=True)

    def is_withdrawn(self, pod: Mapping[str, Any], *, is_gone: bool) -> bool:
        """Whether somebody deletes the pod, so that it is worth asking whether they deleted the whole gang."""
        task = task_of(pod)
        is_open = task not in self.ordered and task not in self.ends and task not in self.settled
        return is_open and (is_gone or is_leaving(pod)) and not disruption(pod)

    def is_open(self, task: str, listed: set[str]) -> bool:
        """Whether nothing is known about the task yet."""
        return task not in listed and task not in self.ends and task not in self.settled

    def past(self, listed: set[str]) -> Iterator[Observation]:
        """The ends of tasks without a pod."""
        return (end for task, end in self.ends.items() if task not in listed and task not in self.settled)

    def settle(self, task: str) -> None:
        self.settled.add(task)
        self.pulling.pop(task, None)
        self.ends.pop(task, None)
        self.ordered.discard(task)

    def has_gone(self, task: str) -> None:
        """The pod of a settled task is gone: nothing is left to keep in mind."""
        self.settled.discard(task)

    def _ended(self, end: Observation) -> Observation:
        self.ends[end.task_id] = end
        return end
