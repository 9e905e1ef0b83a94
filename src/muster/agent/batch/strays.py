"""Jobs of gangs that are over for Muster, and that the batch system still has: a controller that was killed goes back
to what it had written down last, and takes a job for living that was cancelled since.

Only jobs are meant of which this login node knows that it has submitted them, by their number and by the key of their
gang in their comment. Jobs of others are not looked at.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence

from muster.agent.batch.earlier import QueuedJob, cancel_jobs
from muster.agent.batch.programs import Programs, failure
from muster.agent.batch.spool import Spool


def end_strays(programs: Programs, spool: Spool, seen: Sequence[str]) -> List[str]:
    """The numbers of such jobs. Those that were there when somebody looked before, `seen`, are cancelled: others may be
    about to end by themselves."""
    left = spool.left()
    if not left:
        return []
    found = programs.run(["squeue", "--noheader", "--all", "--format=%A|%T|%u|%k"])
    if found.code != 0:
        raise failure(found, "squeue failed")
    strays = [job for job in map(_queued, found.out.splitlines()) if job is not None and _is_stray(job, left)]
    cancel_jobs(programs, [job for job in strays if job.number in seen])
    return [job.number for job in strays]


def _queued(line: str) -> "QueuedJob | None":
    row = line.strip().split("|", 3)
    return QueuedJob(*row) if len(row) == 4 else None


def _is_stray(job: QueuedJob, left: Dict[str, Dict[str, Any]]) -> bool:
    """Its last word is its comment, `muster:<server>:<key>`."""
    start, _, key = job.name.rpartition(":")
    return start.startswith("muster:") and str(left.get(key, {}).get("job") or "") == job.number
