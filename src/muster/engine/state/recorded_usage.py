"""What was sampled of the tasks of an attempt that runs."""

from dataclasses import dataclass, field

from muster.domain.usage.usage_series import UsageSeries

Attempt = tuple[str, int]
"""A job's id, and the number of the attempt."""


@dataclass(slots=True)
class RecordedUsage:
    series: dict[str, UsageSeries] = field(default_factory=dict)
    """The usage of each task, by its id."""
    seen: dict[str, float] = field(default_factory=dict)
    """When the last sample of each task was taken."""
    saved_at: float = 0.0
    is_new: bool = False
    """Whether samples came since it was saved."""
