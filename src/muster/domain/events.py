"""What happened. An event commits together with the change it tells of; its sequence number is the order of
commits and the id by which live streams resume."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    """`job.<state>`, `task.<state>`, `audit.<what was called>`, `node.<state>`; lower case."""

    at: float
    job_id: str | None = None
    actor: str | None = None
    owner: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0
    """Set by the store at commit."""
