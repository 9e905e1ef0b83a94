"""What Slurm says about jobs, as far as observing needs it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ended that could not write it down itself."""

    at: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    is_lost: bool = False
    is_oom: bool = False
    error_code: str = ""
    message: str = ""
    cancelled: str = ""
    node_problem: str = ""


@dataclass(frozen=True, slots=True)
class JobFacts:
    job: str
    is_waiting: bool = False
    reason: str = ""
    starts_at: float | None = None
    end: JobEnd | None = None
