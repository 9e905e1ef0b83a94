"""What the monitor remembers from round to round, also after it was killed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.monitor.outcomes import Reason
from muster.monitor.stories import Story


@dataclass(frozen=True, slots=True)
class ReceiverState:
    """`failures` and `successes` count checks in a row. An outage begins with the first of the failed checks that led
    to it: `since` is its time by the clock on the wall, and `lasted_s` how long ago that is by a clock that never
    jumps."""

    is_down: bool = False
    failures: int = 0
    successes: int = 0
    since: float = 0.0
    lasted_s: float = 0.0
    reason: Reason | None = None
    flaps: int = 0
    """How many times in a row it went down within an hour after it had come back."""
    calm_s: float | None = None
    """How long it has been up since it last came back; None if it never was down."""
    canary_failed: bool = False
    """Whether the last canary job failed. Until one succeeds, checks that are well decide nothing."""
    installation: str = ""
    """The same for receivers that share a database; empty while unknown."""
    checks: int = 0
    """This number and the following ones count since the last digest."""
    failed_checks: int = 0
    outages: int = 0
    down_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Pending:
    """A story that has not been told by all ways. `ways` are those that are left."""

    story: Story
    ways: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MonitorState:
    format: int = 1
    receivers: Mapping[str, ReceiverState] = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    round_at: float | None = None
    """When the last round was completed."""
    rounds: int = 0
    interval_s: float = 60.0
    digest_due: float | None = None
    digest_at: float | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why the last try of each way has failed."""
