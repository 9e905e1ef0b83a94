"""Follows a job until it ends: its logs go to stdout, its outcome to stderr, and Ctrl-C detaches."""

from collections.abc import Iterable, Sequence
from typing import NoReturn

import click

from muster.cli.logs.printing import LogPrinter, printer
from muster.cli.session import say
from muster.cli.tables.colours import state_colour
from muster.cli.wait_reasons import print_wait_reasons
from muster.client.handles import JobHandle, LogChunk
from muster.client.views import JobView
from muster.lib.quantities import about_duration


def follow(handle: JobHandle) -> JobView:
    """Prints the logs of all attempts, then the outcome."""
    try:
        print_following(handle, printer(handle.name, prefixed=handle.view.tasks > 1), handle.logs(follow=True))
        handle.wait()
    except KeyboardInterrupt:
        detach(handle)
    print_outcome(handle.view)
    return handle.view


def print_following(handle: JobHandle, printer: LogPrinter, stream: Iterable[LogChunk]) -> None:
    """Prints a stream of logs, and on stderr why the job has not started yet."""
    handle.notify(printer.say)
    with print_wait_reasons(handle, printer.say):
        printer.print(stream)


def wait_quietly(handle: JobHandle) -> JobView:
    try:
        with print_wait_reasons(handle, say):
            handle.wait()
    except KeyboardInterrupt:
        detach(handle)
    print_outcome(handle.view)
    return handle.view


def detach(handle: JobHandle) -> NoReturn:
    say(f"\ndetached; job {handle.name} continues")
    say(f"  muster logs -f {handle.name}    follow it again")
    say(f"  muster kill {handle.name}       stop it")
    raise click.exceptions.Exit(130)


def stop_waiting(handles: Sequence[JobHandle]) -> NoReturn:
    """Says that the jobs continue, and how to wait for them again, then exits like an interrupted command."""
    names = [handle.name for handle in handles]
    jobs = f"job {names[0]} continues" if len(names) == 1 else f"jobs {', '.join(names[:-1])} and {names[-1]} continue"
    say(f"\nno longer waiting; {jobs}")
    say(f"  muster wait {' '.join(names)}    wait again")
    say(f"  muster kill {' '.join(names)}    stop {'it' if len(names) == 1 else 'them'}")
    raise click.exceptions.Exit(130)


def print_outcome(job: JobView) -> None:
    took = ""
    if job.started_at and job.ended_at:
        took = f" after {about_duration((job.ended_at - job.started_at).total_seconds())}"
    reason = f": {job.reason}" if job.reason and not job.ok else ""
    say(f"job {job.name} {click.style(job.state, fg=state_colour(job.state))}{took}{reason}")
    if job.state == "Failed":
        say(f"  muster explain {job.name}    why, and what to do")


def exit_with_outcome(*jobs: JobView) -> NoReturn:
    raise click.exceptions.Exit(0 if all(job.ok for job in jobs) else 1)
