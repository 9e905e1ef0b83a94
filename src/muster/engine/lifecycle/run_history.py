"""Passes history to the scheduler: how long similar jobs ran, and how much GPU time was used."""

from muster.domain.failures.exit_causes import TIME_LIMIT
from muster.domain.jobs import Failed, Job, Succeeded
from muster.domain.virtual_clusters import WEEK_S
from muster.engine.context import Context
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import demand_of

_JOBS_LOADED = 20_000


def learn_run_time(cluster: ClusterState, job: Job) -> None:
    """Learn the run time of a job that succeeded, or that ran for its whole time limit."""
    ran_out = isinstance(job.state, Failed) and job.state.fault.code == TIME_LIMIT.code
    if isinstance(job.state, Succeeded) or ran_out:
        cluster.learnt(demand_of(job), job.ran_s)


async def load_run_times(context: Context) -> None:
    """Learn from the newest ended jobs after a restart, oldest first. Nothing waits for this, as a prediction affects
    only the order."""
    for job in await context.store.last_ended(limit=_JOBS_LOADED):
        if (cluster := context.clusters.get(job.cluster)) is not None:
            learn_run_time(cluster, job)


async def load_usage(context: Context) -> None:
    """Load the GPU time of the last week, before anything starts that a limit would hold back."""
    for spent in await context.store.spent_since(context.clock() - WEEK_S):
        if (cluster := context.clusters.get(spent.cluster)) is not None:
            cluster.charged(spent.vc, spent.owner, spent.gpu_s, spent.ended_at)
