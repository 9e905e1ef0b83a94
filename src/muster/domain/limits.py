"""What one user, one address and everybody together may have at once. The defaults suit a team that shares a server."""

from dataclasses import dataclass

from muster.domain.experiments.job_metrics import MetricLimits


@dataclass(frozen=True, slots=True)
class Limits:
    connections: int = 4096
    connections_per_address: int = 1024
    streams: int = 2048
    streams_per_user: int = 200
    uploads: int = 64
    uploads_per_user: int = 16
    tasks_per_job: int = 4096
    open_jobs_per_user: int = 100_000
    """Jobs that wait, run or are held."""
    tokens_per_user: int = 200
    secrets_per_user: int = 100
    secret_bytes: int = 64 << 10
    """The value of one secret."""
    package_bytes_per_user: int = 200 << 30
    """Code packages and inputs, with what is here of unfinished uploads."""
    log_bytes_per_user: int = 50 << 30
    """Logs of the user's jobs that the server keeps. Beyond it, the user submits no more jobs."""
    output_bytes_per_user: int = 500 << 30
    log_bytes_per_task: int = 1 << 30
    metric_names_per_attempt: int = 500
    """Names of metrics that one attempt of a job may report."""
    metric_points_per_job: int = 200_000
    """Points of all its metrics. What comes beyond counts in the summaries of the metrics only."""
    outside_runs_per_user: int = 50_000
    """Runs outside of Muster, whether they have ended or not."""
    note_bytes_per_user: int = 256 << 20
    """Params and tags that programs have logged of all runs of the user."""

    @property
    def metrics(self) -> MetricLimits:
        return MetricLimits(self.metric_names_per_attempt, self.metric_points_per_job)
