"""`muster kill`, `retry`, `hold` and `resume`: one verb, many jobs, all tried even if one fails."""

from collections.abc import Callable, Sequence

import click

from muster.cli.failures import Failure
from muster.cli.options import jobs_argument, output_option
from muster.cli.output import print_document
from muster.cli.session import connect, say
from muster.client.errors import UNREACHABLE, MusterError
from muster.client.handles import JobHandle
from muster.client.views import JobView


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
    _each(jobs, lambda handle: handle.kill(grace), output)


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
    _each(jobs, lambda handle: handle.retry(), output)


@click.command()
@jobs_argument
@output_option("name", "json", "yaml", default="name")
def hold(jobs: tuple[str, ...], output: str) -> None:
    """Keep jobs from running until `muster resume`. One that runs is stopped first and loses what it has not saved.

    \b
    Example:
      muster hold nightly
    """
    _each(jobs, lambda handle: handle.hold(), output)


@click.command()
@jobs_argument
@output_option("name", "json", "yaml", default="name")
def resume(jobs: tuple[str, ...], output: str) -> None:
    """Let held jobs start.

    \b
    Example:
      muster resume nightly
    """
    _each(jobs, lambda handle: handle.resume(), output)


def _each(refs: Sequence[str], act: Callable[[JobHandle], JobHandle], output: str) -> None:
    client = connect()
    done: list[JobView] = []
    failed: list[MusterError] = []
    for ref in refs:
        try:
            job = act(client.job(ref)).view
        except MusterError as error:
            if len(refs) == 1 or error.code == UNREACHABLE:
                raise
            failed.append(error)
            continue
        done.append(job)
        say(f"job {job.name} is {job.state}")
        if output == "name":
            click.echo(job.name)
    if output != "name":
        raws = [job.raw for job in done]
        print_document(raws[0] if len(refs) == 1 else {"items": raws}, output)
    if failed:
        raise Failure(f"{len(failed)} of {len(refs)} failed", problems=tuple(error.message for error in failed))
