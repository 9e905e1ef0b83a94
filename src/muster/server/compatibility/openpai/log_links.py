"""Links to the logs of tasks, which clients open without a token. Each is signed, for one user, and expires.

The user's rights are checked again whenever a link is opened.
"""

import hashlib
import hmac
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from muster.domain.errors import Forbidden, NotFound
from muster.domain.jobs import Job
from muster.domain.tasks import Task, job_id_of
from muster.server.services import Services

LINK_S = 3600.0


@dataclass(frozen=True, slots=True)
class LogLink:
    task: str
    user: str
    expires: int
    is_tail: bool

    def path(self, key: bytes) -> str:
        query = {"user": self.user, "expires": self.expires, "tail": str(self.is_tail).lower()}
        return f"/api/v2/task-logs/{quote(self.task)}?{urlencode({**query, 'signature': self.signature(key)})}"

    def signature(self, key: bytes) -> str:
        signed = f"openpai-log\n{self.task}\n{self.user}\n{self.expires}\n{self.is_tail}"
        return hmac.new(key, signed.encode(), hashlib.sha256).hexdigest()


def new_link(parts: Services, task: Task, user: str, *, is_tail: bool) -> str:
    link = LogLink(task.id, user, int(parts.context.clock() + LINK_S), is_tail)
    return link.path(parts.archives.key)


async def opened(parts: Services, link: LogLink, signature: str) -> tuple[Job, Task]:
    """The task whose log the link is for. Raises Forbidden if it is not one of this server's links or has expired, or
    if its user may not read the log any more."""
    expected = link.signature(parts.archives.key)
    is_ours = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))
    if not is_ours or parts.context.clock() >= link.expires:
        raise Forbidden("this link is not valid, or not any more", hint="ask for the logs of the task again")
    job = await parts.context.store.job(job_id_of(link.task))
    user = await parts.context.store.user(link.user)
    if user is None or user.disabled or not (user.is_admin or user.name == job.owner):
        raise Forbidden(f"{link.user} may not read this log any more")
    found = next((task for task in await parts.context.store.tasks(job.id) if task.id == link.task), None)
    if found is None:
        raise NotFound("this task is not in the history any more")
    return job, found
