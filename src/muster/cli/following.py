"""Following a job to its end: its logs on stdout, its outcome on stderr, Ctrl-C detaches."""

from typing import NoReturn

import click

from muster.cli.ages import lasting
from muster.cli.colours import of_state
from muster.cli.log_printing import printer
from muster.cli.session import say
from muster.cli.wait_reasons import told_while_waiting
from muster.client.handles import JobHandle
from muster.client.views import JobView


def follow(handle: JobHandle) -> JobView:
    """Prints its logs through all attempts, then says how it ended."""
    try:
        with told_while_waiting(handle, say):
            printer(handle.name, prefixed=handle.view.tasks > 1).print(handle.logs(follow=True))
        handle.wait()
    except KeyboardInterrupt:
        detach(handle)
    tell_outcome(handle.view)
    return handle.view


def wait_quietly(handle: JobHandle) -> JobView:
    try:
        with told_while_waiting(handle, say):
            handle.wait()
    except KeyboardInterrupt:
        detach(handle)
    tell_outcome(handle.view)
    return handle.view


def detach(handle: JobHandle) -> NoReturn:
    say(f"\ndetached; job {handle.name} goes on")
    say(f"  muster logs -f {handle.name}    follow it again")
    say(f"  muster kill {handle.name}       stop it")
    raise click.exceptions.Exit(130)


def tell_outcome(job: JobView) -> None:
    took = ""
    if job.started_at and job.ended_at:
        took = f" after {lasting((job.ended_at - job.started_at).total_seconds())}"
    reason = f": {job.reason}" if job.reason and not job.ok else ""
    say(f"job {job.name} {click.style(job.state, fg=of_state(job.state))}{took}{reason}")
    if job.state == "Failed":
        say(f"  muster explain {job.name}    why, and what to do")


def exit_by(*jobs: JobView) -> NoReturn:
    raise click.exceptions.Exit(0 if all(job.ok for job in jobs) else 1)
