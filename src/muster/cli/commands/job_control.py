"""`muster kill`, `retry`, `hold` and `resume`. Each works on several jobs and tries all of them even if one fails."""

from collections.abc import Callable

import click

from muster.cli.bulk_actions import act_on_jobs
from muster.cli.job_following import exit_with_outcome, follow
from muster.cli.key_values import parse_assignments
from muster.cli.session import connect, say
from muster.cli.shared_options import jobs_argument, open_jobs_argument, output_option
from muster.cli.tables.output import print_document
from muster.client.handles import JobHandle
from muster.client.views import JobView


@click.command()
@open_jobs_argument
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
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the spec: resources.gpu=2; repeatable.",
)
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="Set a parameter: lr=0.01; repeatable.")
@click.option(
    "-f", "--follow", "followed", is_flag=True, help="Follow the logs of the new job, and exit as it ended: 0 or 1."
)
@output_option("name", "json", "yaml", default="name")
def retry(jobs: tuple[str, ...], sets: tuple[str, ...], params: tuple[str, ...], followed: bool, output: str) -> None:
    """Submit jobs again as new jobs with the same spec and package, or with changes. The name stands for the newest of
    them. The new job of a sweep's member is a job of its own, and the sweep's result stays as it is.

    Changes are checked like a submission, and all mistakes are reported at once. `muster edit` changes a job in an
    editor.

    \b
    Examples:
      muster retry mnist
      muster retry mnist --param lr=0.01 --set resources.gpu=2
      muster retry mnist --set name=mnist-2
      muster retry @last --follow
    """
    changes, given = parse_assignments(sets, "--set"), parse_assignments(params, "--param")

    def again(handle: JobHandle) -> JobHandle:
        return _retried(handle, handle.retry(changes, params=given))

    if followed:
        _follow_again(jobs, again, output)
        return
    act_on_jobs(jobs, again, output, _new_job)


def _follow_again(jobs: tuple[str, ...], again: Callable[[JobHandle], JobHandle], output: str) -> None:
    if len(jobs) > 1:
        raise click.UsageError(f"--follow is for one job, and there are {len(jobs)}")
    handle = again(connect().job(jobs[0]))
    say(_new_job(handle.view))
    ended = follow(handle)
    if output != "name":
        print_document(ended.raw, output)
    exit_with_outcome(ended)


def _retried(earlier: JobHandle, new: JobHandle) -> JobHandle:
    if earlier.view.raw.get("sweep"):
        say("the new job is no member of the sweep, whose result stays as it is")
    return new


def _new_job(job: JobView) -> str:
    return f"submitted job {job.name} again, as the new job {job.id}, which is {job.state}"


@click.command()
@open_jobs_argument
@output_option("name", "json", "yaml", default="name")
def hold(jobs: tuple[str, ...], output: str) -> None:
    """Hold jobs until `muster resume`. A running job is stopped first and loses the work that it has not saved.

    \b
    Example:
      muster hold nightly
    """
    act_on_jobs(jobs, lambda handle: handle.hold(), output)


@click.command()
@open_jobs_argument
@output_option("name", "json", "yaml", default="name")
def resume(jobs: tuple[str, ...], output: str) -> None:
    """Release held jobs, so that they can start.

    \b
    Example:
      muster resume nightly
    """
    act_on_jobs(jobs, lambda handle: handle.resume(), output)
