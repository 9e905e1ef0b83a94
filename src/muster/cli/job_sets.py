"""Several jobs that were submitted together: waits for them, and prints them."""

from collections.abc import Sequence
from functools import partial

from muster.cli.job_following import follow, print_outcome, stop_waiting
from muster.cli.session import say
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.cli.wait_reasons import print_wait_reasons
from muster.client.handles import JobHandle
from muster.client.views import JobView


def wait_for_all(handles: Sequence[JobHandle]) -> list[JobView]:
    for place, handle in enumerate(handles):
        try:
            with print_wait_reasons(handle, partial(_say_of, handle.name)):
                handle.wait()
        except KeyboardInterrupt:
            stop_waiting([other for other in handles[place:] if not other.view.ended])
        print_outcome(handle.view)
    return [handle.view for handle in handles]


def follow_all(handles: Sequence[JobHandle]) -> list[JobView]:
    """Follows one after the other. The logs of those that ended meanwhile are printed whole."""
    views = []
    for handle in handles:
        say(f"==> {handle.name}")
        views.append(follow(handle))
    return views


def print_jobs(jobs: Sequence[JobView], output: str) -> None:
    if output == "name":
        echo("\n".join(job.name for job in jobs))
    else:
        print_document({"items": [job.raw for job in jobs]}, output)


def _say_of(job: str, reason: str) -> None:
    say(f"{job}: {reason.strip()}")
