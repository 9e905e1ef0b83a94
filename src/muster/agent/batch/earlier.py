"""Ends what earlier attempts of a job have left in the batch system, before another attempt is submitted.

Whoever submits may know nothing of them: the folder that knew them may be another one now. The batch system knows.
"""

from __future__ import annotations

import os
import pwd
import time
from typing import Any, List, Mapping, NamedTuple, Sequence

from muster.agent import requests
from muster.agent.batch.programs import UNREACHABLE, Programs
from muster.agent.batch.spool import END, Spool
from muster.agent.errors import AgentError

_END_WITHIN_S = 15.0
_LOOK_EVERY_S = 0.3
_RUNNING = ("RUNNING", "COMPLETING")


class Earlier(NamedTuple):
    names: Sequence[str] = ()
    """The names of their jobs. Each ends with the key of its gang."""
    owner: str = ""
    """The account that may have submitted them, if it was not this one."""


class QueuedJob(NamedTuple):
    number: str
    state: str
    account: str
    name: str


def read_earlier(given: Any) -> Earlier:
    if given is None:
        return Earlier()
    names = given.get("names") if isinstance(given, dict) else None
    if not isinstance(names, list) or not all(requests.is_clean(name) and "," not in name for name in names):
        raise requests.bad_request("earlier must have a list of names without commas")
    return Earlier(tuple(names), requests.text(given, "owner"))


def end_earlier(programs: Programs, spool: Spool, earlier: Earlier) -> None:
    """Returns when none of them runs or waits any more. Raises AgentError, unreachable, if that cannot be known or does
    not come about."""
    if not earlier.names:
        return
    said, deadline = "", time.monotonic() + _END_WITHIN_S
    left = _living(programs, spool, earlier)
    while left:
        said = cancel_jobs(programs, left) or said
        if time.monotonic() > deadline:
            words = "job {} of an earlier attempt has not ended yet{}"
            raise AgentError(UNREACHABLE, words.format(left[0].number, ": " + said if said else ""))
        time.sleep(_LOOK_EVERY_S)
        left = _living(programs, spool, earlier)


def _living(programs: Programs, spool: Spool, earlier: Earlier) -> List[QueuedJob]:
    found = programs.run(["squeue", "--noheader", "--all", "--name=" + ",".join(earlier.names), "--format=%A|%T|%u|%j"])
    if found.code != 0:
        raise AgentError(UNREACHABLE, "squeue failed: {}".format(" ".join(found.err.split())))
    rows = [line.strip().split("|", 3) for line in found.out.splitlines()]
    accounts = (own_account(), earlier.owner)
    jobs = [QueuedJob(*row) for row in rows if len(row) == 4 and row[0].isdigit() and row[2] in accounts]
    return [job for job in jobs if job.state not in _RUNNING or not _has_ended(spool, job)]


def _has_ended(spool: Spool, job: QueuedJob) -> bool:
    """Whether all of its tasks have written down that they ended, so that only the rest of its job is left."""
    gang = spool.gang(".".join(job.name.rsplit(".", 2)[1:]))
    facts = gang.facts()
    return facts is not None and all(_is_own(gang.mark(task, END)) for task in facts["tasks"])


def _is_own(end: "Mapping[str, Any] | None") -> bool:
    return end is not None and end.get("kept") is None


def cancel_jobs(programs: Programs, jobs: Sequence[QueuedJob]) -> str:
    """Returns what was said by those that could not be cancelled."""
    said = ""
    for job in jobs:
        user = "" if job.account == own_account() else job.account
        done = programs.run(["scancel", job.number], user=user)
        if done.code != 0:
            said = " ".join(done.err.split())
    return said


def own_account() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
