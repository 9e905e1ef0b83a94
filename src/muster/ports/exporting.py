"""What an exporter counts, for whoever watches the watchers."""

from dataclasses import dataclass


@dataclass(slots=True)
class ExportCounts:
    """Points that arrived, that were given up, and that wait for a database that is away."""

    sent: int = 0
    dropped: int = 0
    waiting: int = 0
