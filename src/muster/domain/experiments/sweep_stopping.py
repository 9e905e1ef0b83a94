"""Which running members of a sweep are stopped early, because others do better."""

import math
from collections.abc import Collection, Mapping
from statistics import median

from muster.domain.experiments.sweep_progress import Progress
from muster.domain.experiments.sweeps import Goal, StopBy, StopEarly

_Members = Mapping[int, Progress]


def early_stops(rule: StopEarly, goal: Goal, members: _Members, running: Collection[int]) -> dict[int, str]:
    """The running members that are to be stopped, by number, each with the reason for its owner."""
    decide = _behind_median if rule.by is StopBy.MEDIAN else _behind_rung
    reported = {number: one for number, one in members.items() if one.points}
    found = {number: decide(rule, goal, reported, number) for number in running if number in reported}
    return {number: reason for number, reason in found.items() if reason}


def _behind_median(rule: StopEarly, goal: Goal, members: _Members, number: int) -> str:
    one = members[number]
    step = one.last_step
    if step < rule.after_step:
        return ""
    others = [other.best_until(step) for place, other in members.items() if place != number and other.has_come_to(step)]
    if len(others) < rule.members:
        return ""
    if not one.is_finite:
        return _diverged(one, others)
    own, middle = one.best_until(step), median(others)
    if not goal.is_better(middle, own):
        return ""
    return f"stopped early: its best of {own:.6g} at step {step} is worse than the median {middle:.6g} of {len(others)}"


def _behind_rung(rule: StopEarly, goal: Goal, members: _Members, number: int) -> str:
    """Only the last rung that the member has reached is looked at: it was among the best at those before, or is stopped
    by what came to them later, too."""
    one = members[number]
    rung = _last_rung(rule, one.last_step)
    if rung is None:
        return ""
    there = [other.best_until(rung) for other in members.values() if other.has_come_to(rung)]
    if len(there) < rule.members:
        return ""
    if not one.is_finite:
        return _diverged(one, there)
    own, kept = one.best_until(rung), max(1, len(there) // rule.factor)
    better = sum(goal.is_better(value, own) for value in there)
    if better < kept:
        return ""
    return f"stopped early: {better} of {len(there)} were better than {own:.6g} at step {rung}, {kept} stay"


def _last_rung(rule: StopEarly, step: int) -> int | None:
    rung = None
    following = rule.after_step
    while following <= step:
        rung, following = following, following * rule.factor
    return rung


def _diverged(one: Progress, others: Collection[float]) -> str:
    """Says why a member without a finite value is stopped. While all are like that, none is worse than another."""
    if not any(math.isfinite(value) for value in others):
        return ""
    name = "NaN" if math.isnan(one.last_value) else f"{one.last_value:g}"
    return f"stopped early: its value at step {one.last_step} is {name}, and others have finite ones"
