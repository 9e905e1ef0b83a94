"""Follows a job until it ends: its logs go to stdout, its outcome to stderr, and Ctrl-C detaches."""

from collections.abc import Sequence
from typing import NoReturn

import click

from muster.cli.log_printing import printer
from muster.cli.session import say
from muster.cli.tables.ages import duration_text
from muster.cli.tables.colours import state_colour
from muster.cli.wait_reasons import print_wait_reasons
from muster.client.handles import JobHandle
from muster.client.views import JobView


def follow(handle: JobHandle) -> JobView:
    """Prints the logs of all attempts, then the outcome."""
    try:
        with print_wait_reasons(handle, say):
            printer(handle.name, prefixed=handle.view.tasks > 1).print(handle.logs(follow=True))
        handle.wait()
    except KeyboardInterrupt:
        detach(handle)
    print_outcome(handle.view)
    return handle.view


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
        took = f" after {duration_text((job.ended_at - job.started_at).total_seconds())}"
    reason = f": {job.reason}" if job.reason and not job.ok else ""
    say(f"job {job.name} {click.style(job.state, fg=state_colour(job.state))}{took}{reason}")
    if job.state == "Failed":
        say(f"  muster explain {job.name}    why, and what to do")


def exit_with_outcome(*jobs: JobView) -> NoReturn:
    raise click.exceptions.Exit(0 if all(job.ok for job in jobs) else 1)
