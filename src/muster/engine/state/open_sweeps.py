"""A sweep that has not ended, in memory. It is as the store has committed it."""

import asyncio
from dataclasses import dataclass, field

from muster.domain.experiments.sweep_progress import Progress
from muster.domain.experiments.sweeps import Sweep


@dataclass(slots=True, eq=False)
class MemberCurve:
    """The curve of a member as far as it was read, which is that of one attempt."""

    job_id: str
    attempt: int
    progress: Progress


@dataclass(slots=True, eq=False)
class OpenSweep:
    """A step holds its `lock` while it changes the sweep."""

    sweep: Sweep
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waits_for: str = ""
    """Why no more members can be made now; empty if nothing is in the way."""
    is_certain: bool = True
    """False after a write that was not confirmed: the store may be ahead, or have nothing of it."""
    curves: dict[int, MemberCurve] = field(default_factory=dict)
    """By member, what it has of the metric. Only a sweep that stops members early has them."""
