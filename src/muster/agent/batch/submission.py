"""Submits a gang once, however often it is asked for and whatever was cut off in between.

A gang is claimed by a lock that is held for as long as sbatch runs, by sbatch itself or by a process that waits for
sudo: whoever comes next waits until no sbatch for the same gang runs any more. Then the batch system is asked whether
it has a job of that name, before another one is submitted. What earlier attempts have left there is ended first.
"""

from __future__ import annotations

import fcntl
import os
import time
from typing import Any, Callable, List, Mapping, Optional, Sequence

from muster.agent.batch.earlier import own_account
from muster.agent.batch.gang_secrets import BatchSecrets, keep, place
from muster.agent.batch.programs import REJECTED, UNREACHABLE, Programs, failure
from muster.agent.batch.refusals import refusal
from muster.agent.batch.spool import Gang
from muster.agent.errors import AgentError

_CLAIM_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.02
_SINCE = "--starttime=now-7days"
"""By itself, sacct knows of no job that ended before midnight."""


def submit(
    programs: Programs,
    gang: Gang,
    facts: Mapping[str, Any],
    options: Sequence[str],
    script: bytes,
    user: str = "",
    secrets: Optional[Mapping[str, BatchSecrets]] = None,
    end_earlier: Callable[[], None] = lambda: None,
) -> str:
    """The number of the gang's job. Raises AgentError: rejected if the batch system refused it, unreachable if nobody
    knows whether it has it. `end_earlier` ends earlier attempts, or raises; it is called only before sbatch."""
    claim = os.open(gang.claim, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(claim, gang.key)
        known = gang.job() or gang.was_submitted_as()
        if known is not None:
            return known
        if gang.facts() is not None:
            known = _look_up(programs, str(facts["name"]), user or own_account())
            if known is not None:
                gang.write_job(known)
                return known
        end_earlier()
        for task, given in (secrets or {}).items():
            (keep if facts.get("relay") else place)(
                gang.task_folder(task), given
            )  # before the facts: whoever knows the task knows what to mask
        gang.write_facts(facts)
        finished = programs.run(["sbatch", "--parsable", *options], data=script, user=user, held=(claim,))
        if finished.code != 0:
            error = refusal(finished, user)
            if error.code != UNREACHABLE:
                gang.remove()
            raise error
        job = submitted_number(finished.out) or _look_up(programs, str(facts["name"]), user or own_account())
        if job is None:
            gang.remove()
            said = " ".join((finished.out + finished.err).split()) or "nothing"
            raise AgentError(REJECTED, "sbatch on the login node submitted no job, and said: {}".format(said))
        gang.write_job(job)
        return job
    finally:
        os.close(claim)


def submitted_number(out: str) -> "str | None":
    """The number of the job in the answer of `sbatch --parsable`. A name after it is that of the Slurm cluster."""
    lines = out.strip().splitlines()
    word = lines[-1].split(";")[0].strip() if lines else ""
    return word if word.isdigit() else None


def _lock(claim: int, key: str) -> None:
    deadline = time.monotonic() + _CLAIM_WITHIN_S
    while True:
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise AgentError(UNREACHABLE, "an earlier sbatch for {} still runs".format(key)) from None
            time.sleep(_LOOK_EVERY_S)
        else:
            return


def _look_up(programs: Programs, name: str, account: str) -> "str | None":
    """The job of this name, of an earlier try whose answer was lost. Others may give jobs of theirs this name, and the
    partition may be hidden."""
    ours = ["--noheader", "--name=" + name, "--user=" + account]
    queued = programs.run(["squeue", *ours, "--all", "--states=all", "--format=%A"])
    if queued.code != 0:
        raise failure(queued, "squeue failed")
    found = _numbers(queued.out)
    if not found:
        # Without accounting this fails, which says nothing.
        past = programs.run(["sacct", *ours, "--allocations", "--parsable2", _SINCE, "--format=JobIDRaw"])
        found = _numbers(past.out) if past.code == 0 else []
    return min(found, key=int) if found else None


def _numbers(text: str) -> List[str]:
    words = (line.strip().split("+")[0] for line in text.splitlines())
    return [word for word in words if word.isdigit()]
