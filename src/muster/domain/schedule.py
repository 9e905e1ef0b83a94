"""The schedule: what ran and runs where over time, and what is expected to start."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskSpan:
    """The time that one task had its node and its devices."""

    id: str
    name: str
    job_id: str
    job: str
    owner: str
    cluster: str
    node: str
    devices: tuple[int, ...]
    began_at: float
    ended_at: float | None
    state: str
    ends_by: float | None = None
    """When its time limit runs out, while it runs."""


@dataclass(frozen=True, slots=True)
class ExpectedStart:
    job_id: str
    at: float
    ends_at: float | None
    """None if nothing is known about how long it runs."""
    nodes: tuple[str, ...]
    """Empty if the engine of the cluster chooses them."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """What is kept for a job that does not fit yet, so that others do not delay it."""

    job_id: str
    at: float | None
    """When it starts at the latest by the time limits of others; None if it waits for preempted jobs to stop."""
    nodes: tuple[str, ...]
