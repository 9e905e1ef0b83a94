"""Records of jobs on their way to a log server: who makes them, how they wait, and how the sending goes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from muster.domain.events import Event
from muster.ports.store import Change


class Recorder(Protocol):
    """Makes the record of an event. It is called inside the transaction that writes the event, so it must not wait for
    anything and must not raise."""

    def __call__(self, change: Change, event: Event) -> str | None:
        """The body of the record as a JSON object, without the receiver and the number; None if the event has none."""
        ...


@dataclass(slots=True)
class LogDelivery:
    """How the sending of records goes, for people."""

    address: str = ""
    """Empty if the server has no log server."""
    sent: int = 0
    refused: int = 0
    """Records that the log server will never take. They are left out."""
    dropped: int = 0
    """Records that were removed unsent, because too many waited."""
    waiting: int = 0
    oldest_at: float | None = None
    """When the event of the oldest record that waits took place."""
    problem: str = ""
    """Why records cannot be sent now; empty if they can."""
    failing_since: float | None = None
    alert_after_s: float = 300.0


class HistorySource(Protocol):
    """What the log server has of the jobs of all servers. Raises Unavailable if it does not answer."""

    async def jobs(self, where: Mapping[str, str]) -> dict[str, Any]:
        """A page of jobs: `items` and `nextCursor`. Raises Invalid for conditions that it does not know."""
        ...

    async def job(self, receiver: str, job_id: str) -> dict[str, Any] | None:
        """The job and its records, or None."""
        ...
