"""Which running members of a sweep are stopped early, because others do better."""

import math
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from muster.domain.experiments.sweeps import Goal, StopBy, StopEarly

Curve = Sequence[tuple[int, float]]
"""The steps of one member with the values of the metric, in the order of steps. If the newest value is not a finite
number, the member counts as the worst."""


def early_stops(rule: StopEarly, goal: Goal, curves: Mapping[int, Curve], running: Collection[int]) -> dict[int, str]:
    """The running members that are to be stopped, by number, each with the reason for its owner."""
    decide = _behind_median if rule.by is StopBy.MEDIAN else _behind_rung
    found = {number: decide(rule, goal, curves, number) for number in running if curves.get(number)}
    return {number: reason for number, reason in found.items() if reason}


def _behind_median(rule: StopEarly, goal: Goal, curves: Mapping[int, Curve], number: int) -> str:
    step = curves[number][-1][0]
    if step < rule.after_step:
        return ""
    others = [
        _best_until(goal, curve, step) for other, curve in curves.items() if other != number and _came(curve, step)
    ]
    if len(others) < rule.members:
        return ""
    if not _is_finite(curves[number]):
        return _diverged(curves[number], others)
    own, middle = _best_until(goal, curves[number], step), median(others)
    if not goal.is_better(middle, own):
        return ""
    return f"stopped early: its best of {own:.6g} at step {step} is worse than the median {middle:.6g} of {len(others)}"


def _behind_rung(rule: StopEarly, goal: Goal, curves: Mapping[int, Curve], number: int) -> str:
    """Only the last rung that the member has reached is looked at: it was among the best at those before, or is stopped
    by what came to them later, too."""
    rung = _last_rung(rule, curves[number][-1][0])
    if rung is None:
        return ""
    there = {other: _best_until(goal, curve, rung) for other, curve in curves.items() if _came(curve, rung)}
    if len(there) < rule.members:
        return ""
    if not _is_finite(curves[number]):
        return _diverged(curves[number], list(there.values()))
    kept = max(1, len(there) // rule.factor)
    better = sum(goal.is_better(value, there[number]) for value in there.values())
    if better < kept:
        return ""
    return f"stopped early: {better} of {len(there)} were better than {there[number]:.6g} at step {rung}, {kept} stay"


def _last_rung(rule: StopEarly, step: int) -> int | None:
    rung = None
    following = rule.after_step
    while following <= step:
        rung, following = following, following * rule.factor
    return rung


def _diverged(curve: Curve, others: Collection[float]) -> str:
    """Says why a member without a finite value is stopped. While all are like that, none is worse than another."""
    if not any(math.isfinite(value) for value in others):
        return ""
    step, value = curve[-1]
    return f"stopped early: its value at step {step} is {_named(value)}, and others have finite ones"


def _named(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:g}"


def _is_finite(curve: Curve) -> bool:
    return math.isfinite(curve[-1][1])


def _came(curve: Curve, step: int) -> bool:
    return bool(curve) and curve[-1][0] >= step


def _best_until(goal: Goal, curve: Curve, step: int) -> float:
    """A member that logs seldom may have nothing until that step; then its first value counts."""
    if not _is_finite(curve):
        return goal.worst
    finite = [(at, value) for at, value in curve if math.isfinite(value)]
    return goal.best([value for at, value in finite if at <= step] or [finite[0][1]])
