"""How far a member of a sweep has come, and the best value that it had until each step. Points are added as they come,
because a curve may have as many as the history keeps, and a sweep has thousands of members."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Self

from muster.domain.experiments.sweeps import Goal

_MOST = 2000
"""So many improvements are told apart. Of more, those that follow another one closely are forgotten, so that an older
value counts for some steps."""


class Progress:
    __slots__ = ("_apart", "_bests", "_goal", "_steps", "at_last_step", "last_step", "last_value", "points")

    def __init__(self, goal: Goal) -> None:
        self._goal = goal
        self._steps, self._bests = array("q"), array("d")
        """The steps at which the best value became a better one, and the values."""
        self._apart = 1
        """How many steps there are between two of them at least, but for the newest."""
        self.points = 0
        self.last_step, self.last_value, self.at_last_step = 0, math.nan, 0
        """The newest point, and how many points have its step."""

    @classmethod
    def of(cls, goal: Goal, points: Iterable[tuple[int, float]]) -> Self:
        found = cls(goal)
        found.add(points)
        return found

    def continue_with(self, points: Sequence[tuple[int, float]]) -> None:
        """Add the points of the last step and later, of which those of the last step are known."""
        self.points -= self.at_last_step
        self.at_last_step = 0
        self.add(points)

    def add(self, points: Iterable[tuple[int, float]]) -> None:
        """Add points in the order of their steps."""
        for step, value in points:
            self.at_last_step = self.at_last_step + 1 if self.points and step == self.last_step else 1
            self.points, self.last_step, self.last_value = self.points + 1, step, value
            if math.isfinite(value) and (not self._bests or self._goal.is_better(value, self._bests[-1])):
                self._improve(step, value)

    @property
    def is_finite(self) -> bool:
        """Whether the newest value is. If not, the member counts as the worst."""
        return math.isfinite(self.last_value)

    def has_come_to(self, step: int) -> bool:
        return self.points > 0 and self.last_step >= step

    def best_until(self, step: int) -> float:
        """A member that logs seldom may have nothing until that step; then its first value counts."""
        if not self.is_finite:
            return self._goal.worst
        return self._bests[max(0, bisect_right(self._steps, step) - 1)]

    def _improve(self, step: int, value: float) -> None:
        steps, bests = self._steps, self._bests
        if len(steps) > 1 and (step == steps[-1] or steps[-1] - steps[-2] < self._apart):
            steps[-1], bests[-1] = step, value
            return
        steps.append(step)
        bests.append(value)
        if len(steps) > _MOST:
            self._forget()

    def _forget(self) -> None:
        known = list(zip(self._steps, self._bests, strict=True))
        self._apart = max(2 * self._apart, 2 * (self._steps[-1] - self._steps[0]) // _MOST)
        self._steps, self._bests = array("q"), array("d")
        for step, value in known:
            self._improve(step, value)
