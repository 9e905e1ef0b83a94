"""Following a job to its end: its logs on stdout, its outcome on stderr, Ctrl-C detaches."""

from typing import NoReturn

import click

from muster.cli.ages import lasting
from muster.cli.colours import of_state
from muster.cli.log_printing import printer
from muster.cli.session import say
from muster.client.handles import JobHandle
from muster.client.views import JobView, TaskView

_BETWEEN_ATTEMPTS_S = 2.0


def follow(handle: JobHandle) -> JobView:
    """Prints the logs of every attempt until the job has ended, then says how it ended."""
    try:
        _print_all_attempts(handle)
    except KeyboardInterrupt:
        detach(handle)
    tell_outcome(handle.view)
    return handle.view


def wait_quietly(handle: JobHandle) -> JobView:
    try:
        handle.wait()
    except KeyboardInterrupt:
        detach(handle)
    tell_outcome(handle.view)
    return handle.view


def labels_of(tasks: list[TaskView]) -> dict[str, str]:
    return {task.name: task.short_name for task in tasks}


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


def _print_all_attempts(handle: JobHandle) -> None:
    """A log stream ends with its attempt; a job that is retried has another one."""
    printed: int | None = None
    while not (handle.view.ended and printed == handle.view.attempt):
        attempt = handle.view.attempt or None
        labels = labels_of(handle.tasks()) if attempt else {}
        several = handle.view.tasks > 1
        printer(labels, prefixed=several).print(handle.logs(follow=True, attempt=attempt))
        printed = attempt
        while not handle.view.ended and (handle.view.attempt or None) == printed:
            try:
                handle.wait(_BETWEEN_ATTEMPTS_S)
            except TimeoutError:
                continue
