"""Checks the number that `--attempt` names."""

from muster.cli.failures import Failure
from muster.client.views import JobView


def check_attempt(job: JobView, attempt: int | None) -> None:
    """Raises Failure if the job has not got that far; the hint says which attempts there are."""
    if attempt is None or attempt <= job.attempt:
        return
    there = {0: "it has not been started yet", 1: "it has one attempt: 1"}
    hint = there.get(job.attempt, f"its attempts are 1 to {job.attempt}")
    raise Failure(f"job {job.name} has no attempt {attempt}", hint=hint)
