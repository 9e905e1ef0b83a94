"""A fault is the classified cause of a failure. Its kind decides whether a retry can help and whose retries it uses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class FaultKind(StrEnum):
    USER = "user"
    PLATFORM = "platform"
    CAPACITY = "capacity"
    CONFIGURATION = "configuration"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Fault:
    """`code` is stable. `cause` and `advice` are one sentence each, for people. `words` are the names and figures in
    them, so that a page can say both in another language."""

    kind: FaultKind
    code: str
    cause: str
    advice: str = ""
    retryable: bool = False
    task: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    words: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def counts_against_retries(self) -> bool:
        """Platform and capacity faults are not the user's fault, so they do not use up the user's retries."""
        return self.kind not in (FaultKind.PLATFORM, FaultKind.CAPACITY)
