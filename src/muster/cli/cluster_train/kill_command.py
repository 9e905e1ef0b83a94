"""The command that kills a job, as it is printed and as people of the old client type it."""

import re
import shlex
from collections.abc import Sequence

import click

OLD_WORDS = ("qdel", "deljob", "scancel")
"""What `paddle cluster_kill` ran on the receiver: the command of the cluster's scheduler."""
_JOB = re.compile(r"@last|[A-Za-z0-9][A-Za-z0-9._-]*")


def kill_command(job_id: str) -> str:
    """Return the command that kills the job, with the server or context that this command was given."""
    chosen = click.get_current_context().find_root().obj or {}
    where = [word for name in ("server", "context") if chosen.get(name) for word in (f"--{name}", str(chosen[name]))]
    return shlex.join(["muster", *where, "cluster-kill", job_id])


def job_in(words: Sequence[str]) -> str:
    """The job that the words name. They are read, and no shell ever sees them."""
    parts = [part for word in words for part in word.split()]
    if parts and parts[0] in OLD_WORDS:
        parts = parts[1:]
    if len(parts) == 1 and _JOB.fullmatch(parts[0]):
        return parts[0]
    raise click.UsageError(
        "name one job: muster cluster-kill JOB, or as before: muster cluster-kill qdel JOB; no other words are run"
    )
