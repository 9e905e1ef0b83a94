"""Jobs that somebody made in the engine of a cluster itself, beside Muster's own. Muster shows them and changes none.

They are no rows of the store: a backend keeps them in memory as its engine reports them, and they disappear with the
engine's own objects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from muster.domain.resources import Resources
from muster.domain.specs import Mode


@dataclass(frozen=True, slots=True)
class ForeignRole:
    name: str
    replicas: int
    """How many tasks it is to have."""
    active: int = 0
    succeeded: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class ForeignJob:
    space: str
    """Where it is in the engine, such as a namespace. It stands for an owner, whom the engine does not know."""
    name: str
    state: str
    """One of the states of Muster's jobs."""
    mode: Mode
    framework: str
    roles: tuple[ForeignRole, ...]
    resources: Resources
    """What all its tasks ask for together."""
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    restarts: int = 0
    reason: str = ""
    """Why it waits or failed, in the engine's own words."""
    labels: Mapping[str, str] = field(default_factory=dict)
    made_with: str = ""
    """The program that made it, for people."""
    change_with: str = ""
    """A command that changes it."""
    read_with: str = ""
    """A command that prints its logs."""


class ForeignJobs(Protocol):
    @property
    def origin(self) -> str:
        """The name of the engine, as the API and the pages show it."""
        ...

    def jobs(self) -> Sequence[ForeignJob]:
        """All of them, in no order. This is called often: answer from memory."""
        ...

    def unknown_why(self) -> str:
        """Why they are not known, for people; empty if they are."""
        ...
