"""The limits of one user on the server as a whole, with what is used of them."""

from muster.domain.accounts import User
from muster.domain.specs import tasks_at_most
from muster.engine.cluster_access import visible_clusters
from muster.engine.requests.reported_room import reported_by
from muster.scheduling.allocations.usage_views import Quota
from muster.server.services import Services


async def own_limits(parts: Services, user: str, reader: User) -> list[Quota]:
    """`reader` sees the limits of the nodes of those clusters that they may use."""
    context = parts.context
    limits = context.limits
    sizes = (tasks_at_most(entry.job.spec) for entry in context.open_jobs.entries() if entry.job.owner == user)
    reported = await reported_by(context, user)
    used = {
        "logBytes": (limits.log_bytes_per_user, context.kept_data.log_bytes(user)),
        "noteBytes": (limits.note_bytes_per_user, reported.note_bytes),
        "openJobs": (limits.open_jobs_per_user, context.open_jobs.count_of(user)),
        "outputBytes": (limits.output_bytes_per_user, context.kept_data.output_bytes(user)),
        "outsideRuns": (limits.outside_runs_per_user, reported.runs),
        "packageBytes": (limits.package_bytes_per_user, await parts.packages.bytes_of(user)),
        "secrets": (limits.secrets_per_user, await _secrets_of(parts, user)),
        "streams": (limits.streams_per_user, parts.bounds.streams.held_by(user)),
        "tasksPerJob": (limits.tasks_per_job, max(sizes, default=0)),
        "tokens": (limits.tokens_per_user, len(await context.store.tokens(user))),
        "uploads": (limits.uploads_per_user, parts.bounds.uploads.held_by(user)),
    }
    used["taskLogBytes"] = (limits.log_bytes_per_task, 0)  # it bounds each log; nothing is counted
    tasks = context.open_jobs.tasks_by_node()
    for cluster in visible_clusters(context, reader):
        if context.engine(cluster) is None:
            busiest = max((len(tasks.get((cluster, node.name), ())) for node in context.nodes(cluster)), default=0)
            used[f"tasksPerNode/{cluster}"] = (context.backends[cluster].settings.tasks_per_node, busiest)
    return [Quota("", user, kind, limit, count) for kind, (limit, count) in used.items()]


async def _secrets_of(parts: Services, user: str) -> int:
    found = await parts.context.store.user(user)
    return len(await parts.context.store.secrets(found.id)) if found is not None else 0
