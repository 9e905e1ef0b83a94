"""`muster kill`, `retry`, `hold` and `resume`: one verb, many jobs, all tried even if one fails."""

import click

from muster.cli.batch import act_on_jobs
from muster.cli.options import jobs_argument, output_option


@click.command()
@jobs_argument
@click.option("--grace", metavar="DURATION", help="How long to wait between asking and forcing: 30s.")
@output_option("name", "json", "yaml", default="name")
def kill(jobs: tuple[str, ...], grace: str | None, output: str) -> None:
    """Stop jobs: every worker is asked to end, then made to. Their logs stay.

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
    """Submit jobs again as new jobs with the same spec and package.

    \b
    Examples:
      muster retry mnist
      muster logs -f $(muster retry @last)
    """
    act_on_jobs(jobs, lambda handle: handle.retry(), output)


@click.command()
@jobs_argument
@output_option("name", "json", "yaml", default="name")
def hold(jobs: tuple[str, ...], output: str) -> None:
    """Keep jobs from running until `muster resume`. One that runs is stopped first and loses what it has not saved.

    \b
    Example:
      muster hold nightly
    """
    act_on_jobs(jobs, lambda handle: handle.hold(), output)


@click.command()
@jobs_argument
@output_option("name", "json", "yaml", default="name")
def resume(jobs: tuple[str, ...], output: str) -> None:
    """Let held jobs start.

    \b
    Example:
      muster resume nightly
    """
    act_on_jobs(jobs, lambda handle: handle.resume(), output)
