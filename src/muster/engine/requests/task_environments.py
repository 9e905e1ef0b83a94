"""What a task of an attempt was started with, composed again from the job and from where the task was placed."""

from dataclasses import replace

from muster.domain.elastic import sizes_of
from muster.domain.errors import NotFound
from muster.domain.jobs import Job
from muster.domain.launch_requests import LaunchRequest
from muster.domain.tasks import Task
from muster.engine.context import Context
from muster.engine.lifecycle.launching import compose_gang


async def launch_request_of(context: Context, job: Job, task: Task) -> LaunchRequest:
    """The same request that was sent, unless the job or the file of its cluster was changed since."""
    if job.cluster not in context.backends:
        raise NotFound(f"cluster {job.cluster} is not there any more, so that nobody knows how {task.name} was started")
    gang = await context.store.tasks(job.id, task.attempt)
    sizes = sizes_of(job.spec, (one.role for one in gang))
    launch = compose_gang(context, replace(job, attempt=task.attempt, sizes=sizes), gang)
    return next(request for request in launch.requests if request.task_id == task.id)
