"""What one user, one address and everybody together may have at once, as `limits` in the settings file."""

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from muster.domain.limits import Limits

_DEFAULT = Limits()


def _count(name: str, description: str, least: int = 1) -> int:
    value: int = Field(getattr(_DEFAULT, name), ge=least, description=description)
    return value


class LimitSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)

    connections: int = _count("connections", "Connections in all; fewer if the server may open fewer files.", 16)
    connections_per_address: int = _count("connections_per_address", "Connections from one address.")
    streams: int = _count("streams", "Streams of logs and events in all.")
    streams_per_user: int = _count("streams_per_user", "Streams of one user.")
    uploads: int = _count("uploads", "Pieces of files that are received at once, in all; each takes up to 8 MiB.")
    uploads_per_user: int = _count("uploads_per_user", "Pieces of files that one user may send at once.")
    tasks_per_job: int = _count("tasks_per_job", "Tasks of one job, of all its roles together.")
    open_jobs_per_user: int = _count("open_jobs_per_user", "Jobs of one user that wait, run or are held.")
    tokens_per_user: int = _count("tokens_per_user", "Tokens and logins of one user.", 2)
    secrets_per_user: int = _count("secrets_per_user", "Secrets of one user.")
    secret_bytes: int = _count("secret_bytes", "Bytes of one secret.")
    package_bytes_per_user: int = _count("package_bytes_per_user", "Bytes of one user's code packages and inputs.")
    log_bytes_per_user: int = _count("log_bytes_per_user", "Bytes of one user's logs that the server keeps.")
    output_bytes_per_user: int = _count("output_bytes_per_user", "Bytes of one user's outputs that the server keeps.")
    log_bytes_per_task: int = _count("log_bytes_per_task", "Bytes that are kept of one task's log.", 64 << 10)
    metric_names_per_attempt: int = _count("metric_names_per_attempt", "Names of metrics of one attempt of a job.")
    metric_points_per_job: int = _count("metric_points_per_job", "Points of metrics that are kept of one job.")
    outside_runs_per_user: int = _count("outside_runs_per_user", "Runs outside of Muster that one user has reported.")
    note_bytes_per_user: int = _count("note_bytes_per_user", "Bytes of params and tags in all runs of one user.")

    def limits(self) -> Limits:
        return Limits(**self.model_dump())


assert set(LimitSettings.model_fields) == set(asdict(_DEFAULT)), "every limit is a setting"
