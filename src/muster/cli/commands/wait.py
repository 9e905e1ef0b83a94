"""`muster wait`."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

from muster.cli.job_following import exit_with_outcome, print_outcome, stop_waiting
from muster.cli.session import connect, say
from muster.cli.shared_options import jobs_argument, output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.cli.wait_reasons import print_wait_reasons
from muster.lib.quantities import parse_duration


@click.command()
@jobs_argument
@click.option("--timeout", metavar="DURATION", help="Stop waiting after this time (30s, 2h), with exit code 124.")
@output_option("table", "json", "yaml", "name")
def command(jobs: tuple[str, ...], timeout: str | None, output: str) -> None:
    """Wait until jobs have ended. The exit code is 0 if all succeeded, 1 if not, 124 after the timeout.

    Why a job waits is printed on stderr, and again when the reason changes. If the server restarts in the meantime,
    the command waits for it. Ctrl-C ends the command, not the jobs.

    \b
    Examples:
      muster wait mnist && echo trained
      muster wait @last --timeout 2h
      muster wait train-a train-b train-c
    """
    try:
        allowed = None if timeout is None else parse_duration(timeout)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--timeout") from error
    deadline = None if allowed is None else time.monotonic() + allowed
    client = connect()
    handles = [client.job(ref) for ref in jobs]
    for place, handle in enumerate(handles):
        try:
            with print_wait_reasons(handle, partial(_say_of, handle.name if len(handles) > 1 else "")):
                handle.wait(None if deadline is None else max(deadline - time.monotonic(), 0))
        except TimeoutError as error:
            say(f"timed out: job {handle.name} is still {handle.state}")
            raise click.exceptions.Exit(124) from error
        except KeyboardInterrupt:
            stop_waiting([other for other in handles[place:] if not other.view.ended])
        print_outcome(handle.view)
    _print([handle.view.raw for handle in handles], output)
    exit_with_outcome(*(handle.view for handle in handles))


def _say_of(job: str, reason: str) -> None:
    say(f"{job}: {reason.strip()}" if job else reason)


def _print(jobs: Sequence[Mapping[str, Any]], output: str) -> None:
    if output == "name":
        echo("\n".join(str(job["name"]) for job in jobs))
    elif output in ("json", "yaml"):
        print_document(jobs[0] if len(jobs) == 1 else {"items": jobs}, output)
