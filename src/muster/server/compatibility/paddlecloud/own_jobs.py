"""The jobs of the caller. A user of paddlecloud has a namespace, and sees nothing outside it."""

from muster.domain.errors import NotFound
from muster.domain.jobs import Job
from muster.domain.specs import PS_ROLE
from muster.domain.tasks import Task
from muster.engine.requests.accounts import Principal
from muster.ports.store import JobFilter
from muster.server.access import Action, require_of_job
from muster.server.compatibility.paddlecloud.kube_views import is_listed
from muster.server.services import Services

MOST = 200
"""How many jobs a list has at most, the newest ones. Its tasks are looked up job by job."""


async def newest_of_each_name(parts: Services, me: Principal) -> list[Job]:
    """Kubernetes has one job of a name; of those that Muster keeps, it is the newest."""
    page = await parts.context.store.jobs(JobFilter(owner=me.name), limit=MOST)
    newest: dict[str, Job] = {}
    for job in page.items:
        newest.setdefault(job.name, job)
    return list(newest.values())


async def listed_jobs(parts: Services, me: Principal) -> list[Job]:
    return [job for job in await newest_of_each_name(parts, me) if is_listed(job)]


async def own_job(parts: Services, me: Principal, name: str, action: Action) -> Job:
    """The newest job of the caller with this name. Nobody else's is found, also not by an admin: the name is all that
    paddlecloud's clients send."""
    job = await parts.context.store.find_job(me.name, name)
    if job is None:
        raise NotFound(f"there is no job {name!r}")
    require_of_job(me, action, job, private=parts.private_jobs)
    return job


async def tasks_of(parts: Services, job: Job) -> list[Task]:
    return list(await parts.context.store.tasks(job.id, max(job.attempt, 1)))


def trainers(tasks: list[Task]) -> list[Task]:
    return [task for task in tasks if task.role != PS_ROLE]


def servers(tasks: list[Task]) -> list[Task]:
    return [task for task in tasks if task.role == PS_ROLE]
