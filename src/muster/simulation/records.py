"""What goes into a simulation and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One row of a trace. Durations are run time, queueing excluded; `gpus` is the gang's total and may be a part of
    one GPU."""

    job_id: str
    submit_s: float
    duration_s: float
    gpus: float
    user: str = ""
    vc: str = ""
    gpu_type: str = ""
    cpus: float = 0.0
    mem_mib: float = 0.0
    limit_s: float | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    job: TraceJob
    first_start_s: float
    end_s: float
    preemptions: int = 0
    lost_gpu_s: float = 0.0

    @property
    def jct_s(self) -> float:
        return self.end_s - self.job.submit_s

    @property
    def queue_s(self) -> float:
        """All the time that was not run time: waiting, and what preemption cost."""
        return self.jct_s - self.job.duration_s


@dataclass(frozen=True, slots=True)
class Sample:
    """The cluster from `at_s` until the next sample."""

    at_s: float
    busy_gpus: float
    waiting_jobs: int
    waiting_gpus: float
    fragmented_gpus: float = 0.0
    """Free GPUs on which the waiting job that is next finds no room although they would be enough in number."""


@dataclass(frozen=True, slots=True)
class Run:
    policy: str
    gpus: int
    finished: Sequence[Finished]
    samples: Sequence[Sample] = field(default_factory=list)
    never: Sequence[TraceJob] = ()
    """Jobs that could never start."""
    wall_s: float = 0.0
    prediction_error: float | None = None
    """Median of |predicted - actual| / actual over the jobs that had a prediction."""
