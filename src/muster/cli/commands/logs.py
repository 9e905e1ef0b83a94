"""`muster logs`."""

import sys

import click

from muster.cli.failures import Failure
from muster.cli.following import detach
from muster.cli.log_printing import printer
from muster.cli.options import job_argument
from muster.cli.session import connect, say
from muster.client.handles import JobHandle
from muster.client.views import TaskView


@click.command()
@job_argument
@click.option("-w", "--worker", "workers", multiple=True, metavar="NAME", help="Only worker-0, or a whole role: ps.")
@click.option("-f", "--follow", "followed", is_flag=True, help="Go on as more is written, until the job ends.")
@click.option("-n", "--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines of each worker.")
@click.option("--raw", is_flag=True, help="One worker's log byte for byte, binary and all.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="Of an earlier attempt.")
def command(
    job: str, workers: tuple[str, ...], followed: bool, tail: int | None, raw: bool, attempt: int | None
) -> None:
    """Print the logs of a job: running, ended or killed.

    All workers are interleaved under a prefix; one alone is printed as it is. It streams, whatever the size. Ctrl-C
    ends the printing, never the job.

    \b
    Examples:
      muster logs mnist
      muster logs -f @last
      muster logs mnist -w worker-0 -n 10
      muster logs mnist --raw -w worker-0 > worker-0.log
    """
    if raw and (followed or tail is not None):
        raise click.UsageError("--raw prints the whole file; it goes with neither --follow nor --tail")
    handle = connect().job(job)
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
    """All tasks, or those that a `-w` names by full name, short name or role."""
    if not workers:
        return tasks
    chosen: list[TaskView] = []
    for worker in workers:
        found = [task for task in tasks if worker in (task.name, task.short_name, task.role)]
        if not found:
            known = ", ".join(task.short_name for task in tasks) or "none yet"
            raise Failure(f"job {handle.name} has no worker {worker!r}", hint=f"it has {known}")
        chosen += [task for task in found if task not in chosen]
    return chosen


def _print_raw(handle: JobHandle, chosen: list[TaskView], attempt: int | None) -> None:
    if len(chosen) != 1:
        known = ", ".join(task.short_name for task in chosen) or "none yet"
        raise Failure("--raw prints one worker", hint=f"choose it with -w; there are {known}")
    for chunk in handle.raw_log(chosen[0].name, attempt=attempt):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
