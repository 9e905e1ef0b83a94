"""What an exporter counts, for the server's own metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class ExportCounts:
    """Points that were sent, that were dropped, and that wait until the database answers."""

    sent: int = 0
    dropped: int = 0
    waiting: int = 0
