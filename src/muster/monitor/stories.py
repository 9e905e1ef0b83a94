"""What is told, as facts. It is kept until everybody has been told, and said in the language of each way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from muster.monitor.outcomes import Reason


@dataclass(frozen=True, slots=True)
class Failed:
    receiver: str
    url: str
    reason: Reason
    since: float
    checks: int
    """How many checks in a row have failed."""


@dataclass(frozen=True, slots=True)
class Recovered:
    receiver: str
    url: str
    reason: Reason
    """Why it had failed last."""
    since: float
    lasted_s: float


@dataclass(frozen=True, slots=True)
class FailureStory:
    id: str
    at: float
    items: tuple[Failed, ...]
    watched: int
    kind: Literal["failure"] = "failure"


@dataclass(frozen=True, slots=True)
class RecoveryStory:
    id: str
    at: float
    items: tuple[Recovered, ...]
    still_down: tuple[str, ...]
    kind: Literal["recovery"] = "recovery"


@dataclass(frozen=True, slots=True)
class Availability:
    receiver: str
    checks: int
    failed_checks: int
    outages: int
    down_s: float
    is_down: bool

    @property
    def percent(self) -> float | None:
        """The share of checks that were well. None if there were none."""
        return 100.0 * (self.checks - self.failed_checks) / self.checks if self.checks else None


@dataclass(frozen=True, slots=True)
class Figures:
    """What the receivers on one database answered about the week. `problem` says why there is nothing."""

    receivers: tuple[str, ...]
    problem: Reason | None = None
    by_user: Mapping[str, Any] = field(default_factory=dict)
    by_node: Mapping[str, Any] = field(default_factory=dict)
    alerts: Mapping[str, Any] = field(default_factory=dict)
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class DigestStory:
    id: str
    at: float
    since: float
    availability: tuple[Availability, ...]
    figures: tuple[Figures, ...]
    kind: Literal["digest"] = "digest"


@dataclass(frozen=True, slots=True)
class TrialStory:
    id: str
    at: float
    receivers: tuple[str, ...]
    kind: Literal["test"] = "test"


Story = Annotated[FailureStory | RecoveryStory | DigestStory | TrialStory, Field(discriminator="kind")]
