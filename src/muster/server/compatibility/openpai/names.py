"""Jobs as OpenPAI names them: `user~job`.

Muster frees a name when its job has ended, so several jobs may have had it. The name then means the newest one. Neither
users nor jobs of Muster can have a `~` in their names, so nothing is ambiguous.
"""

from muster.domain.errors import Conflict, Forbidden
from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, may, require_of_job
from muster.server.compatibility.openpai.errors import PaiError
from muster.server.services import Services

_SEPARATOR = "~"


def pai_name(job: Job) -> str:
    return f"{job.owner}{_SEPARATOR}{job.name}"


async def find_job(parts: Services, me: Principal, name: str, action: Action) -> Job:
    """A job that the caller may not see is refused with the same words as one that never existed."""
    owner, separator, own_name = name.partition(_SEPARATOR)
    job = await parts.context.store.find_job(owner, own_name) if separator and owner and own_name else None
    if job is None or not may(me, Action.JOB_SEE, job.owner, private=parts.private_jobs):
        raise PaiError(404, "NoJobError", f"there is no job {name}")
    require_of_job(me, action, job, private=parts.private_jobs)
    return job


async def refuse_used_name(parts: Services, owner: str, name: str) -> None:
    """OpenPAI never gives a name to a second job while the history has the first one."""
    if await parts.context.store.find_job(owner, name) is not None:
        raise Conflict(f"there is already a job {owner}{_SEPARATOR}{name}", hint="choose another name")


def require_own(me: Principal, user: str) -> None:
    if me.name != user:
        raise Forbidden(f"{me.name} can't submit a job as {user}")
