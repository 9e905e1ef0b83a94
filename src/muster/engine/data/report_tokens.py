"""The tokens by which tasks report to the run of their own job.

A token is sealed with the key of the secrets and stored nowhere, so that no list has it. It names the job and the
attempt, and counts only while that attempt is under way.
"""

import base64
import binascii
import re

from muster.domain.errors import NotAuthenticated, Unavailable
from muster.domain.jobs import Job, Running, Starting, Stopping
from muster.domain.secrets import job_secrets_owner
from muster.engine.context import Context
from muster.engine.data.secrets import require_key, secret_box
from muster.launch.mlflow_access import REPORT_SECRET, reports

PREFIX = "mrt_"
_TOKEN = re.compile(rf"{PREFIX}([0-9a-z]{{16}})_([0-9]{{1,9}})_([A-Za-z0-9_-]{{1,500}}=*)")
_VALUE = b"report"


async def report_token_values(context: Context, job: Job) -> dict[str, bytes]:
    """The token of this attempt, by the name under which tasks get it; nothing if the job does not report."""
    if not reports(job.spec):
        return {}
    await require_key(context)
    sealed = secret_box(context).seal(job_secrets_owner(job.id), _name(job.attempt), _VALUE)
    return {REPORT_SECRET: f"{PREFIX}{job.id}_{job.attempt}_{_packed(sealed)}".encode()}


def job_of_token(context: Context, token: str) -> Job:
    """The job whose present attempt has this token. Raises NotAuthenticated."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        raise _REFUSED
    job_id, attempt = found[1], int(found[2])
    try:
        value = secret_box(context).open(job_secrets_owner(job_id), _name(attempt), _unpacked(found[3]))
    except (Unavailable, ValueError, binascii.Error):
        raise _REFUSED from None
    entry = context.open_jobs.get(job_id)
    if value != _VALUE or entry is None or not _is_under_way(entry.job, attempt):
        raise _REFUSED
    return entry.job


def _is_under_way(job: Job, attempt: int) -> bool:
    """A job that waits for its next attempt, or is held, has the number of its last one."""
    return job.attempt == attempt and isinstance(job.state, Starting | Running | Stopping)


_REFUSED = NotAuthenticated("this token is not that of a task that runs", hint="its attempt may have ended")


def _name(attempt: int) -> str:
    return f"{REPORT_SECRET}.{attempt}"


def _packed(sealed: str) -> str:
    """Encodes without characters that a header or a shell might take for something else."""
    return base64.urlsafe_b64encode(sealed.encode()).decode()


def _unpacked(text: str) -> str:
    return base64.urlsafe_b64decode(text).decode("ascii")
