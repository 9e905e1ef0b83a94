"""Prometheus metrics of jobs that have nodes, and of the users who have jobs. They are for readers who may know of the
jobs of everybody. Jobs that wait are counted by user, so that a long queue does not become a long answer."""

from muster.ports.exporting import JobFigures, UserFigures, WorkFigures
from muster.server.metric_families import Described, Families
from muster.server.metric_readers import Reader

_USER = ("cluster", "user")
_JOB = ("cluster", "user", "job_id", "job_name")
METRICS: dict[str, Described] = {
    "muster_user_jobs": Described("Jobs of the user that have not ended, by state.", (*_USER, "state")),
    "muster_user_gpus_allocated": Described("GPUs that the user's tasks have.", _USER),
    "muster_user_longest_wait_seconds": Described("How long the user's job that waits longest has waited.", _USER),
    "muster_job_tasks": Described("Tasks of the job that have not ended.", _JOB),
    "muster_job_run_seconds": Described("How long ago the job started.", _JOB),
    "muster_job_gpus_allocated": Described("GPUs that the job's tasks have.", _JOB),
    "muster_job_gpu_load_percent": Described("How busy the job's GPUs are, on average.", _JOB),
    "muster_job_cpu_percent": Described("CPU that the job's tasks use; 100 is one core.", _JOB),
    "muster_job_memory_bytes": Described("Memory that the job's tasks use.", _JOB),
}


def work_metrics(figures: WorkFigures, reader: Reader) -> Families:
    families = Families(METRICS)
    if reader.sees_jobs:
        for user in figures.users:
            if user.cluster in reader.clusters:
                _add_user(families, user)
        for job in figures.jobs:
            if job.cluster in reader.clusters:
                _add_job(families, job)
    return families


def _add_user(families: Families, user: UserFigures) -> None:
    labels = (user.cluster, user.user)
    for state, count in user.jobs:
        families.add("muster_user_jobs", (*labels, state), count)
    families.add("muster_user_gpus_allocated", labels, user.gpus)
    families.add("muster_user_longest_wait_seconds", labels, user.longest_wait_s)


def _add_job(families: Families, job: JobFigures) -> None:
    labels = (job.cluster, job.user, job.id, job.name)
    families.add("muster_job_tasks", labels, job.tasks)
    families.add("muster_job_run_seconds", labels, job.run_s)
    families.add("muster_job_gpus_allocated", labels, job.gpus)
    families.add("muster_job_gpu_load_percent", labels, job.gpu_load_percent)
    families.add("muster_job_cpu_percent", labels, job.cpu_percent)
    families.add("muster_job_memory_bytes", labels, job.memory_bytes)
