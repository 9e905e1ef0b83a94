"""`muster logs`."""

import re
import sys
from collections.abc import Iterable
from datetime import datetime

import click

from muster.cli.attempts import check_attempt
from muster.cli.failures import Failure
from muster.cli.job_following import detach, print_following
from muster.cli.logs.line_filter import Keep, keep_all, keep_matching
from muster.cli.logs.printing import printer
from muster.cli.logs.setup_part import setup_part
from muster.cli.logs.times import parse_time
from muster.cli.option_types import Parsed
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_workers, job_argument
from muster.cli.worker_names import full_worker
from muster.client.handles import JobHandle, LogChunk
from muster.client.views import TaskView
from muster.domain.jobs import ELSEWHERE

_TIME = Parsed("time", lambda text: parse_time(text, datetime.now().astimezone()))


@click.command()
@job_argument
@click.option(
    "-w",
    "--worker",
    "workers",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_workers,
    help="Only this worker, such as worker-0 or just 0, or this role, such as ps.",
)
@click.option("-f", "--follow", "followed", is_flag=True, help="Keep printing until the job ends.")
@click.option(
    "-n",
    "--tail",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the last N lines of each worker, counted before --grep.",
)
@click.option(
    "--since", type=_TIME, metavar="TIME", help="Only lines from this time on: 10m (ago), 10:00, 2026-11-16T10:00."
)
@click.option("--until", type=_TIME, metavar="TIME", help="Only lines up to this time.")
@click.option("--timestamps", is_flag=True, help="Print when each line was written, to about a second.")
@click.option("--grep", "pattern", metavar="PATTERN", help="Only lines that contain this regular expression.")
@click.option("-i", "--ignore-case", is_flag=True, help="Make --grep match upper and lower case alike.")
@click.option("-F", "--fixed-strings", is_flag=True, help="Take the pattern of --grep as it is.")
@click.option("--raw", is_flag=True, help="Print the unchanged bytes of one worker's log.")
@click.option("--setup", "only_setup", is_flag=True, help="Only what the setup of the job has printed.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="An earlier attempt.")
def command(
    job: str,
    workers: tuple[str, ...],
    followed: bool,
    tail: int | None,
    since: datetime | None,
    until: datetime | None,
    timestamps: bool,
    pattern: str | None,
    ignore_case: bool,
    fixed_strings: bool,
    raw: bool,
    only_setup: bool,
    attempt: int | None,
) -> None:
    """Print the logs of a job that runs, has ended or was killed.

    The lines of several workers are interleaved, each with a prefix; the log of a single worker has none. Logs of any
    size are streamed. Ctrl-C ends the command, not the job. If the server goes away, `-f` waits until it is back.

    A progress bar is one line, which a terminal redraws; into a pipe or a file goes its last frame. Times are those of
    the node's clock. It is looked at once a second, so they are known to a second for the last hour or more of output,
    and become coarser for older lines of a long log.

    \b
    Examples:
      muster logs mnist
      muster logs -f @last
      muster logs mnist -w worker-0 -n 10
      muster logs -f mnist -w 0 --timestamps
      muster logs mnist --since 10m --grep 'loss|error' -i
      muster logs mnist --since 10:00 --until 10:30
      muster logs mnist --setup
      muster logs mnist --raw -w worker-0 > worker-0.log
    """
    if raw and (followed or timestamps or any(option is not None for option in (tail, since, until, pattern))):
        raise click.UsageError("--raw prints the whole file and cannot be used with options that select lines")
    if followed and until is not None:
        raise click.UsageError("--follow goes on to the end and cannot be used with --until")
    if since is not None and until is not None and since >= until:
        raise click.UsageError("--until must be later than --since")
    if only_setup and (raw or timestamps or any(option is not None for option in (tail, since, until))):
        raise click.UsageError("--setup prints the beginning of each log, as it is; only -f, -w and --grep go with it")
    keep = _kept(pattern, ignore_case, fixed_strings)
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
    if handle.view.cluster == ELSEWHERE and handle.view.ended:
        say(f"{handle.name} was reported from outside of Muster, and has no log here")
        return
    if not tasks and not followed:
        missing = "there is no log" if handle.view.ended else "no log yet"
        say(f"{missing}: job {handle.name} is {handle.state}; `muster explain {handle.name}` says why")
        return
    several = len(chosen) > 1 or (not chosen and handle.view.tasks > 1)
    named = [task.name for task in chosen] if workers else []
    stream: Iterable[LogChunk] = handle.logs(
        follow=followed,
        tasks=named,
        tail=tail,
        attempt=attempt,
        since=since,
        until=until,
        timestamps=timestamps,
    )
    if only_setup:
        stream = setup_part(stream, [task.name for task in chosen] if chosen else None)
    try:
        widest = max((len(task.short_name) for task in chosen), default=0)
        shown = printer(handle.name, prefixed=several, width=widest, keep=keep)
        if followed:
            print_following(handle, shown, stream)
        else:
            shown.print(stream)
    except KeyboardInterrupt:
        if handle.refresh().view.ended:
            raise
        detach(handle)


def _kept(pattern: str | None, ignore_case: bool, fixed_strings: bool) -> Keep:
    if pattern is None:
        if ignore_case or fixed_strings:
            raise click.UsageError("-i and -F say how --grep matches, which is missing")
        return keep_all
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    return keep_matching(re.escape(pattern) if fixed_strings else pattern, flags)


def _chosen(tasks: list[TaskView], workers: tuple[str, ...], handle: JobHandle) -> list[TaskView]:
    """All tasks, or those that `-w` selects by full name, short name or role."""
    if not workers:
        return tasks
    chosen: list[TaskView] = []
    for worker in workers:
        full = full_worker(tasks, worker)
        found = [task for task in tasks if full in (task.name, task.short_name, task.role)]
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
