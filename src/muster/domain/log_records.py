"""Records of what happened to jobs, as they wait for the log server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogRecord:
    receiver: str
    """The name under which the log server knows where the record comes from."""
    seq: int
    """The number of its event. Receiver and number together name the record."""
    at: float
    body: str
    """A JSON object, without the receiver and the number."""
