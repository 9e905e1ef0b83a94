"""`muster kill`, `retry`, `hold` and `resume`. Each works on several jobs and tries all of them even if one fails."""

import click

from muster.cli.bulk_actions import act_on_jobs
from muster.cli.shared_options import jobs_argument, output_option
from muster.client.views import JobView


@click.command()
@jobs_argument
@click.option("--grace", metavar="DURATION", help="The time that tasks get to end before they are killed: 30s.")
@output_option("name", "json", "yaml", default="name")
def kill(jobs: tuple[str, ...], grace: str | None, output: str) -> None:
    """Stop jobs. Every worker gets time to end before it is killed. Logs are kept.

    \b
    Examples:
      muster kill mnist
      muster kill train-a train-b --grace 30s
      muster get jobs --mine --state Queued -o name | xargs muster kill
    """
    act_on_jobs(jobs, lambda handle: handle.kill(grace), output)


@click.command()
@jobs_argument
@output_option("name", "json", "yaml", default="name")
def retry(jobs: tuple[str, ...], output: str) -> None:
    """Submit jobs again as new jobs with the same spec and package. The name stands for the newest of them.

    \b
    Examples:
      muster retry mnist
      muster logs -f $(muster retry @last)
    """
    act_on_jobs(jobs, lambda handle: handle.retry(), output, _new_job)


def _new_job(job: JobView) -> str:
    return f"submitted job {job.name} again, as the new job {job.id}, which is {job.state}"


@click.command()
@jobs_argument
@output_option("name", "json", "yaml", default="name")
def hold(jobs: tuple[str, ...], output: str) -> None:
    """Hold jobs until `muster resume`. A running job is stopped first and loses the work that it has not saved.

    \b
    Example:
      muster hold nightly
    """
    act_on_jobs(jobs, lambda handle: handle.hold(), output)


@click.command()
@jobs_argument
@output_option("name", "json", "yaml", default="name")
def resume(jobs: tuple[str, ...], output: str) -> None:
    """Release held jobs, so that they can start.

    \b
    Example:
      muster resume nightly
    """
    act_on_jobs(jobs, lambda handle: handle.resume(), output)
