"""Events. An event is committed together with the change that it reports. Its sequence number follows the order of
commits, and live streams resume from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    """`job.<state>`, `task.<state>`, `node.<state>` or `audit.<operation>`, in lower case."""

    at: float
    job_id: str | None = None
    actor: str | None = None
    owner: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0
    """The store sets this at commit."""
