"""The order policies that a virtual cluster may choose from: how to rank jobs, who may overtake, who may interrupt."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from muster.domain.virtual_clusters import OrderPolicy
from muster.scheduling.ordering.ranking import HOUR_S, Arrival, Attained, Expected, ExpectedWhole, Ranker, Remaining
from muster.scheduling.ordering.runtime_prediction import Predictor

AGING_S = 3 * 24 * HOUR_S
AGING_RUNS = 30.0


class Overtaking(StrEnum):
    """What others may do while the job that is next does not fit."""

    NEVER = "never"
    """They wait."""
    RESERVED = "reserved"
    """They start if that does not delay its reserved start."""
    FREE = "free"
    """They start, until it has waited long."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How jobs are ranked, who may overtake, and whether a better rank is enough to interrupt a running job."""

    name: str
    ranker: Ranker
    overtaking: Overtaking = Overtaking.FREE
    interrupts: bool = False
    by_usage: bool = False
    """Whether users who have used least come first."""
    aging_s: float = inf
    aging_runs: float = 0.0
    """A job that has waited so long, and so many times as long as such jobs run, counts as one priority higher, again
    and again; from the top on it lets nobody pass."""


def policies(predictor: Predictor, *, may_interrupt: bool = True) -> Mapping[OrderPolicy, Policy]:
    """The policies that a virtual cluster may choose from."""
    expected = Expected(predictor) if may_interrupt else ExpectedWhole(predictor)
    return {
        OrderPolicy.DEFAULT: Policy(
            "default", expected, interrupts=may_interrupt, aging_s=AGING_S, aging_runs=AGING_RUNS
        ),
        OrderPolicy.FIFO: Policy("fifo", Arrival(), Overtaking.RESERVED, aging_s=AGING_S, aging_runs=AGING_RUNS),
        OrderPolicy.FAIR: Policy("fair", Arrival(), by_usage=True, aging_s=AGING_S, aging_runs=AGING_RUNS),
        OrderPolicy.LAS: Policy("las", Attained(), interrupts=may_interrupt, aging_s=AGING_S, aging_runs=AGING_RUNS),
        OrderPolicy.SHORTEST: Policy("shortest", Remaining(predictor), aging_s=AGING_S, aging_runs=AGING_RUNS),
    }
