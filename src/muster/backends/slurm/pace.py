"""When Slurm has to be asked: about jobs, and about nodes. Tasks tell most of their lives themselves."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from muster.backends.slurm.answers.queries import Answer, Jobs
from muster.backends.slurm.gang_marks import GangMarks, TaskMarks
from muster.backends.slurm.observing import needs_slurm

_SHARE_OF_TIME = 50.0
"""Asking takes at most one fiftieth of the time."""
_LOOK_SHARE_OF_TIME = 10.0
"""And at most a tenth while somebody looks."""
_SLOWEST_S = 60.0
_ANSWERS = 3
"""One answer may be late by chance. Slurm takes long if each of so many did."""
_QUIET_TIMES = 10.0
_QUIET_S = 30.0
_NODES_EVERY_S = 5.0
_SETTLING_S = 60.0
"""How long after an outage of Slurm its nodes may still be on their way back."""


class Pace:
    """Remembers the last answers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_took_s = deque([0.0] * _ANSWERS, _ANSWERS)
        self._is_away = False
        self._jobs_at = self._nodes_at = self._back_at = float("-inf")
        self._asked: frozenset[str] = frozenset()
        self._jobs = Jobs()

    def answered(self, asked: Iterable[str], answer: Answer, began: float) -> None:
        self._last_took_s.append(self._clock() - began)
        if self._is_away:
            self._is_away, self._back_at = False, began
        if asked := frozenset(asked):
            self._jobs_at, self._asked, self._jobs = began, asked, answer.jobs
        if answer.machines is not None:
            self._nodes_at = began

    def failed(self) -> None:
        """Slurm did not answer. When it does again, its nodes may not be back yet."""
        self._is_away = True

    def poll_s(self, wanted_s: float) -> float:
        """The longer Slurm takes to answer, the less often it is asked."""
        return min(max(wanted_s, self._took_s * _SHARE_OF_TIME), _SLOWEST_S)

    def known_jobs(self, gangs: Sequence[GangMarks], live: Iterable[str], wanted_s: float) -> Jobs | None:
        """What is known of these jobs without asking. While all tasks run by their own word, their marks tell when one
        of them ends, whoever ended it, and only a node that fails leaves none."""
        live, every_s = frozenset(live), self.poll_s(wanted_s)
        if not live <= self._asked:
            return None
        if is_quiet(gangs):
            every_s = max(every_s, min(_QUIET_TIMES * wanted_s, _QUIET_S))
        else:
            every_s /= 2  # somebody else has just asked
        return self._jobs if self._clock() < self._jobs_at + every_s else None

    def needs_nodes(self) -> bool:
        """Whether the nodes were asked for some time ago, and jobs wait in Slurm, so that what others leave matters, or
        Slurm was away."""
        is_waiting = any(job.is_waiting for job in self._jobs.by_id.values())
        is_settling = self._clock() < self._back_at + _SETTLING_S
        return (is_waiting or is_settling) and self.nodes_age_s() >= _NODES_EVERY_S

    def is_old(self, max_age_s: float) -> bool:
        """Whether somebody who looks has to wait for nodes that are asked for anew."""
        return self.nodes_age_s() >= max(max_age_s, min(self._took_s * _LOOK_SHARE_OF_TIME, _SLOWEST_S))

    @property
    def _took_s(self) -> float:
        return min(self._last_took_s)

    def unasked_s(self) -> float:
        """How long ago Slurm has answered, whatever it was asked for."""
        return self._clock() - max(self._jobs_at, self._nodes_at)

    def nodes_age_s(self) -> float:
        return self._clock() - self._nodes_at


def is_quiet(gangs: Iterable[GangMarks]) -> bool:
    return all(_runs(task) for gang in gangs for task in gang.tasks if needs_slurm(task))


def _runs(task: TaskMarks) -> bool:
    return task.begin is not None and task.end is None and not task.is_ordered
