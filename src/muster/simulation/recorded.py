"""What really happened, as a run that simulated ones are compared with."""

from collections.abc import Sequence
from typing import NamedTuple

from muster.simulation.records import Finished, Run, Sample, TraceJob

TITLE = "as it was"


class Recorded(NamedTuple):
    """A job with its real first start and end."""

    job: TraceJob
    started_s: float
    ended_s: float
    preemptions: int = 0

    @property
    def ran_from_s(self) -> float:
        """How long a job ran is known, but not when, if it was put back into the queue. What it did before then was
        mostly lost: it is taken to have waited first, and to have run up to its end."""
        return max(self.started_s, self.ended_s - self.job.duration_s)


def recorded_run(jobs: Sequence[Recorded], gpus: int) -> Run:
    changes: list[tuple[float, float, int, float]] = []
    for each in jobs:
        job = each.job
        changes += [
            (job.submit_s, 0.0, 1, job.gpus),
            (each.ran_from_s, job.gpus, -1, -job.gpus),
            (each.ended_s, -job.gpus, 0, 0.0),
        ]
    samples: list[Sample] = []
    busy, waiting, wanted = 0.0, 0, 0.0
    for at_s, more_busy, more_waiting, more_wanted in sorted(changes, key=lambda change: change[0]):
        busy, waiting, wanted = busy + more_busy, waiting + more_waiting, wanted + more_wanted
        if samples and samples[-1].at_s == at_s:
            samples.pop()
        samples.append(Sample(at_s, busy, waiting, wanted))
    finished = [Finished(each.job, each.started_s, each.ended_s, each.preemptions) for each in jobs]
    return Run(TITLE, gpus, finished, samples)
