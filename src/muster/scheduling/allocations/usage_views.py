"""What people are shown of a cluster: shares, limits, and what-if answers."""

from dataclasses import dataclass

from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import Share
from muster.scheduling.demand import Slot


@dataclass(frozen=True, slots=True)
class ShareView:
    """One virtual cluster at this moment."""

    vc: str
    guaranteed: Share
    used: Share
    borrowed: Share
    """The part of `used` that is beyond the guarantee: others' idle hardware."""
    lent: Share
    """The part of the guarantee that others use now."""
    running: int
    waiting: int
    prediction_error: float | None
    """How far predicted run times are off: the median of |predicted - real| / real; None before anything is known."""


@dataclass(frozen=True, slots=True)
class Quota:
    """One limit: of a virtual cluster, or of one of its users. `kind` is the limit's name as it is written in the
    settings, such as `runningGpus`."""

    vc: str
    user: str
    """Empty if the limit is that of the whole virtual cluster."""
    kind: str
    limit: float
    used: float
    waiting: tuple[str, ...] = ()
    """Ids of the jobs that wait on it, in order."""


@dataclass(frozen=True, slots=True)
class StartForecast:
    likely: float
    """The start if jobs run as long as similar ones did in the middle, or to their time limits where no similar job is
    known."""
    latest: float | None
    """The start if jobs run to their time limits, or as long as nearly all similar ones did; None if one of them has
    neither."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    reasons: tuple[Reason, ...]
    start: StartForecast | None
    slots: tuple[Slot, ...] = ()
    """Where it would be if it would start at once."""
