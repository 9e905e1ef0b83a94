"""Answers what a job used: ended tasks from the store, running ones from the newest samples."""

from muster.domain.jobs import HOLDING, Job
from muster.domain.usage.job_usage import JobUse, job_use, with_live
from muster.domain.used_resources import NOTHING_USED, UsageSum, UsedResources, sum_of
from muster.engine.context import Context


async def usage_of(context: Context, job: Job) -> JobUse:
    tasks = await context.store.tasks(job.id)
    live = {} if job.is_final else live_usage(context, job)
    return job_use(job, [with_live(task, live) for task in tasks], context.clock())


def usage_so_far(context: Context, job: Job) -> UsageSum:
    """The sum for a listing: the attempts that have ended, and the newest samples of the current one."""
    ended = job.used or NOTHING_USED
    entry = context.open_jobs.get(job.id)
    if entry is None or not isinstance(job.state, HOLDING):
        return ended  # the tasks of the last attempt are in it already
    live = live_usage(context, job)
    return sum_of((with_live(task, live).used for task in entry.current_tasks()), ended)


def all_live_usage(context: Context) -> dict[str, UsedResources | None]:
    """What all running tasks have used so far, by id."""
    nodes = (usage for one in context.backends.values() for usage in one.capabilities.latest_usage().values())
    return {task: usage.used for node in nodes for task, usage in node.tasks.items()}


def live_usage(context: Context, job: Job) -> dict[str, UsedResources | None]:
    """What the running tasks of the job have used so far, by id."""
    backend = context.backends.get(job.cluster)
    nodes = {} if backend is None else backend.capabilities.latest_usage()
    entry = context.open_jobs.get(job.id)
    found: dict[str, UsedResources | None] = {}
    for task in entry.current_tasks() if entry is not None else ():
        sample = nodes.get(task.placement.node)
        if sample is not None and task.id in sample.tasks:
            found[task.id] = sample.tasks[task.id].used
    return found
