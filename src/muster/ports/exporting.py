"""The counters of an exporter, for the server's own metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class ExportCounts:
    """How many points were sent, were dropped, and wait until the database answers."""

    sent: int = 0
    dropped: int = 0
    waiting: int = 0
