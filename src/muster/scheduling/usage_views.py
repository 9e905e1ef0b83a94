"""What a cluster tells of itself to people: shares, limits, and what would be if."""

from dataclasses import dataclass

from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import Share


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
    settings, `runningGpus` say."""

    vc: str
    user: str
    """Empty: of the virtual cluster as a whole."""
    kind: str
    limit: float
    used: float
    waiting: tuple[str, ...] = ()
    """Ids of the jobs that wait on it, in order."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    reasons: tuple[Reason, ...]
    starts_at: float | None
