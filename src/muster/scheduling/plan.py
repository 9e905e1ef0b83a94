"""What one scheduling cycle decides: which gangs start where, which are preempted, and why the others wait."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.domain.reasons import Reason
from muster.scheduling.demand import Slot


@dataclass(slots=True)
class Start:
    job_id: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Preemption:
    """A running gang that has to stop. It goes back to the queue; the reason names the job that needs its slots."""

    job_id: str
    reason: Reason


@dataclass(slots=True)
class Plan:
    """What one cycle says. Plans and starts are never changed; there are so many of them that declaring them frozen is
    too slow. A gang whose slots are still occupied by preempted jobs starts in the plan of a later
    cycle, when the last of them is `released`."""

    starts: tuple[Start, ...] = ()
    preemptions: tuple[Preemption, ...] = ()
    wake_at: float | None = None
    """When to plan again if nothing happens before; None if only an event can change anything."""
    reasons: Mapping[str, Reason] = field(default_factory=dict, compare=False)
    """Why each job still waits, by job id. A reason is worked out when it is read, because a cycle may leave a
    hundred thousand jobs waiting; it describes the cluster as the latest cycle left it."""
