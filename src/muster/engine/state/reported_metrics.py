"""Which tasks have reported metrics, as far as it is known since the engine was started."""

from dataclasses import dataclass, field

from muster.domain.tasks import Task


@dataclass(slots=True)
class ReportedMetrics:
    since: float = 0.0
    """When the engine was started. Tasks that were there before may have reported metrics that nobody has read."""
    sizes: dict[str, int] = field(default_factory=dict)
    """How many bytes a task has reported, until all of them were read after its end."""
    reading: set[str] = field(default_factory=set)
    """Tasks whose metrics are being read while they run."""
    reading_logs: set[str] = field(default_factory=set)
    """Tasks whose logs are being searched for metrics while they run."""

    def may_have_more(self, task: Task) -> bool:
        return task.id in self.sizes or task.started_at is None or task.started_at < self.since
