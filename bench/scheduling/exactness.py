"""Whether the simulator is right: it must give the very figures of Tiresias's, where both do the same."""

from collections.abc import Sequence

from bench.muster.case import Case, Figures
from bench.scale import Scale
from bench.scheduling.lines import EXACT, TIRESIAS, Exact
from bench.scheduling.replaying import Replay, replay_all
from bench.table import Row, Sheet, Unit, at_least
from muster.simulation.metrics import Summary

DIGITS = 2
KEYS = ("mean_jct", "makespan", "preemptions")
HEAD = ("trace", "nodes", "policy", "", "mean JCT", "makespan", "preemptions", "the same")
FIGURES = sum(getattr(each, key) is not None for each in EXACT for key in KEYS)
BAR = Row("figures of Tiresias's simulator, to the last digit", Unit.COUNT, bar=at_least(FIGURES))


def run(scale: Scale, figures: Figures) -> Sequence[Row | Sheet]:
    replays = [Replay(each.trace, each.nodes, each.policy, placement="count") for each in EXACT]
    found = [done.summary for done in replay_all(replays)]
    same = sum(count_same(each, ours) for each, ours in zip(EXACT, found, strict=True))
    lines = [line for each, ours in zip(EXACT, found, strict=True) for line in _lines(each, ours)]
    note = f"{len(EXACT)} runs, each beside theirs below"
    return [
        Row(BAR.what, BAR.unit, same, TIRESIAS, FIGURES, BAR.bar, note),
        Sheet("exactness: count placement, free preemption, exact durations", [HEAD, *lines]),
    ]


def count_same(theirs: Exact, ours: Summary) -> int:
    """How many of their figures are ours too."""
    known = [(getattr(theirs, key), ours[key]) for key in KEYS]
    return sum(one is not None and round(other, DIGITS) == one for one, other in known)


def _lines(theirs: Exact, ours: Summary) -> list[tuple[str, ...]]:
    known = [getattr(theirs, key) for key in KEYS]
    of_all = f"{count_same(theirs, ours)} of {sum(value is not None for value in known)}"
    return [
        (theirs.trace, theirs.nodes, theirs.policy, "ours", *(_digits(ours[key]) for key in KEYS), of_all),
        ("", "", "", "theirs", *("-" if value is None else _digits(value) for value in known), ""),
    ]


def _digits(value: float) -> str:
    return f"{value:,.{DIGITS}f}".removesuffix(".00")


CASE = Case("exactness", "the simulator beside Tiresias's, to the last digit", run, lambda figures: [BAR])
