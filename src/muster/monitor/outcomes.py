"""What the check of a receiver found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Step(StrEnum):
    CONNECT = "connect"
    ALIVE = "alive"
    READY = "ready"
    WRITE = "write"
    CANARY = "canary"


class ReasonCode(StrEnum):
    UNKNOWN_HOST = "unknown-host"
    REFUSED = "refused"
    TIMED_OUT = "timed-out"
    BROKEN_OFF = "broken-off"
    UNREACHABLE = "unreachable"
    CERTIFICATE = "certificate"
    NEEDS_HTTPS = "needs-https"
    NOT_MUSTER = "not-muster"
    NOT_AUTHENTICATED = "not-authenticated"
    FORBIDDEN = "forbidden"
    NOT_READY = "not-ready"
    STORAGE_FULL = "storage-full"
    UNAVAILABLE = "unavailable"
    ERROR = "error"
    CANARY_FAILED = "canary-failed"
    CANARY_SLOW = "canary-slow"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a check failed, for people in any language. `details` are the figures and the words of others in it."""

    code: ReasonCode
    step: Step
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`reason` is None if everything was well. `installation` is the same for receivers that share a database."""

    reason: Reason | None
    took_s: float
    installation: str = ""
