"""What the scheduler is told of the past: how long jobs like this one ran, and how much of the hardware was used."""

from muster.domain.exit_causes import TIME_LIMIT
from muster.domain.jobs import Failed, Job, Succeeded
from muster.domain.virtual_clusters import WEEK_S
from muster.engine.context import Context
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import demand_of

_JOBS_REMEMBERED = 20_000


def learn(cluster: ClusterState, job: Job) -> None:
    """From jobs that took the time they needed, or all that they were given."""
    ran_out = isinstance(job.state, Failed) and job.state.fault.code == TIME_LIMIT.code
    if isinstance(job.state, Succeeded) or ran_out:
        cluster.learnt(demand_of(job), job.ran_s)


async def remember_jobs(context: Context) -> None:
    """After a start: the newest jobs that ended, oldest first. Nothing waits for it: a prediction only orders."""
    for job in await context.store.last_ended(limit=_JOBS_REMEMBERED):
        if (cluster := context.clusters.get(job.cluster)) is not None:
            learn(cluster, job)


async def remember_usage(context: Context) -> None:
    """The last week's GPU time, before anything starts that a limit would keep."""
    for spent in await context.store.spent_since(context.clock() - WEEK_S):
        if (cluster := context.clusters.get(spent.cluster)) is not None:
            cluster.charged(spent.vc, spent.owner, spent.gpu_s, spent.ended_at)
