"""The reason why a job waits: a stable code, a sentence for people, its numbers, and what would change it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reason:
    code: str
    message: str
    change: str = ""
    numbers: Mapping[str, int | float | str] = field(default_factory=dict)
