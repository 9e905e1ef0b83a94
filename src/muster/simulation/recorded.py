"""What really happened, as a run that simulated ones are compared with."""

from collections.abc import Sequence

from muster.simulation.records import Finished, Run, Sample, TraceJob

TITLE = "as it was"


def recorded_run(jobs: Sequence[tuple[TraceJob, float, float]], gpus: int) -> Run:
    """`jobs` are jobs with their real first start and end. Between the two they count as running, also while they were
    preempted."""
    changes: list[tuple[float, float, int, float]] = []
    for job, started_s, ended_s in jobs:
        changes += [
            (job.submit_s, 0.0, 1, job.gpus),
            (started_s, job.gpus, -1, -job.gpus),
            (ended_s, -job.gpus, 0, 0.0),
        ]
    samples: list[Sample] = []
    busy, waiting, wanted = 0.0, 0, 0.0
    for at_s, more_busy, more_waiting, more_wanted in sorted(changes, key=lambda change: change[0]):
        busy, waiting, wanted = busy + more_busy, waiting + more_waiting, wanted + more_wanted
        if samples and samples[-1].at_s == at_s:
            samples.pop()
        samples.append(Sample(at_s, busy, waiting, wanted))
    finished = [Finished(job, started_s, ended_s) for job, started_s, ended_s in jobs]
    return Run(TITLE, gpus, finished, samples)
