"""What the core answers: what to do, the status that follows, what to report, and when to look again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.operator.job.actions import Action, Create


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event on the job, for people: `Normal` unless it is a warning."""

    reason: str
    message: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the operator's log about what happened to a job. Unlike an event it costs no write."""

    text: str
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    stages: tuple[tuple[Action, ...], ...] = ()
    """The actions of a stage may be carried out at the same time; the next stage only if all of them succeeded."""
    status: Mapping[str, Any] | None = None
    """The whole status; None leaves it as it is."""
    events: tuple[JobEvent, ...] = ()
    wake_at: float | None = None
    log: tuple[LogLine, ...] = ()
    """What is logged once the actions have been carried out, or the status written if there are none."""

    @property
    def has_actions(self) -> bool:
        return any(self.stages)

    @property
    def creates(self) -> tuple[str, ...]:
        """The names of the objects that it creates."""
        return tuple(action.name for stage in self.stages for action in stage if isinstance(action, Create))
