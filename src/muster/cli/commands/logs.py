"""`muster logs`."""

import sys

import click

from muster.cli.attempts import check_attempt
from muster.cli.failures import Failure
from muster.cli.job_following import detach
from muster.cli.log_printing import printer
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_workers, job_argument
from muster.client.handles import JobHandle
from muster.client.views import TaskView


@click.command()
@job_argument
@click.option(
    "-w",
    "--worker",
    "workers",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_workers,
    help="Only this worker, such as worker-0, or this role, such as ps.",
)
@click.option("-f", "--follow", "followed", is_flag=True, help="Keep printing until the job ends.")
@click.option("-n", "--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines of each worker.")
@click.option("--raw", is_flag=True, help="Print the unchanged bytes of one worker's log.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="An earlier attempt.")
def command(
    job: str, workers: tuple[str, ...], followed: bool, tail: int | None, raw: bool, attempt: int | None
) -> None:
    """Print the logs of a job that runs, has ended or was killed.

    The lines of several workers are interleaved, each with a prefix; the log of a single worker has none. Logs of any
    size are streamed. Ctrl-C ends the command, not the job. If the server goes away, `-f` waits until it is back.

    \b
    Examples:
      muster logs mnist
      muster logs -f @last
      muster logs mnist -w worker-0 -n 10
      muster logs mnist --raw -w worker-0 > worker-0.log
    """
    if raw and (followed or tail is not None):
        raise click.UsageError("--raw prints the whole file and cannot be used with --follow or --tail")
    handle = connect().job(job)
    if handle.view.origin != "muster":
        next(iter(handle.logs()), None)  # the server refuses it, and says where these logs are
        return
    check_attempt(handle.view, attempt)
    tasks = handle.tasks(attempt)
    chosen = _chosen(tasks, workers, handle)
    if raw:
        _print_raw(handle, chosen, attempt)
        return
    if not tasks and not followed:
        say(f"no log yet: job {handle.name} is {handle.state}; `muster explain {handle.name}` says why")
        return
    several = len(chosen) > 1 or (not chosen and handle.view.tasks > 1)
    named = [task.name for task in chosen] if workers else []
    stream = handle.logs(follow=followed, tasks=named, tail=tail, attempt=attempt)
    try:
        widest = max((len(task.short_name) for task in chosen), default=0)
        printer(handle.name, prefixed=several, width=widest).print(stream)
    except KeyboardInterrupt:
        if handle.refresh().view.ended:
            raise
        detach(handle)


def _chosen(tasks: list[TaskView], workers: tuple[str, ...], handle: JobHandle) -> list[TaskView]:
    """All tasks, or those that `-w` selects by full name, short name or role."""
    if not workers:
        return tasks
    chosen: list[TaskView] = []
    for worker in workers:
        found = [task for task in tasks if worker in (task.name, task.short_name, task.role)]
        if not found:
            known = ", ".join(task.short_name for task in tasks) or "none yet"
            raise Failure(f"job {handle.name} has no worker {worker!r}", hint=f"its workers are {known}")
        chosen += [task for task in found if task not in chosen]
    return chosen


def _print_raw(handle: JobHandle, chosen: list[TaskView], attempt: int | None) -> None:
    if len(chosen) != 1:
        known = ", ".join(task.short_name for task in chosen) or "none yet"
        raise Failure("--raw prints the log of one worker", hint=f"select it with -w; the workers are {known}")
    for chunk in handle.raw_log(chosen[0].name, attempt=attempt):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
