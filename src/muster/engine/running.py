"""The engine as a whole: it starts its parts in order, runs its loops, and stops without touching a task."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from muster.domain.tasks import job_id_of
from muster.engine.access_warnings import warn_of_unknown_names
from muster.engine.context import Context
from muster.engine.data.disk_usage import run_disk_usage
from muster.engine.data.models import remove_unfinished
from muster.engine.data.usage_history import UsageHistory
from muster.engine.lifecycle.access_holds import check_access
from muster.engine.lifecycle.cycling import run_cycles
from muster.engine.lifecycle.late_logs import ENDED_PHASES, handle_late, is_past_attempt
from muster.engine.lifecycle.observing import receive, speaks_for_its_own
from muster.engine.lifecycle.reconciling import load, reconcile
from muster.engine.lifecycle.resync import run_resync
from muster.engine.nodes.administration import update_scheduler
from muster.engine.nodes.fleet import Builder, Fleet
from muster.engine.nodes.liveness import NodeLiveness
from muster.engine.nodes.node_events import NodeHistory
from muster.engine.nodes.polling import run_polling
from muster.engine.requests.retention import run_retention
from muster.engine.sweeps.following import load_sweeps, run_sweeps
from muster.ports.backend import Observation


class _Listener:
    """Receives the calls of all backends."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.liveness = NodeLiveness(context)
        self._history = NodeHistory(context)

    def task_observed(self, cluster: str, observation: Observation) -> None:
        if speaks_for_its_own(self._context, cluster, observation):
            receive(self._context, observation)
        is_gone = self._context.open_jobs.get(job_id_of(observation.task_id)) is None
        if is_gone or (observation.phase in ENDED_PHASES and is_past_attempt(self._context, observation)):
            handle_late(self._context, cluster, observation)

    def nodes_changed(self, cluster: str) -> None:
        if cluster in self._context.clusters:  # a cluster that was just removed has no scheduler
            update_scheduler(self._context, cluster)
        self.liveness.check(cluster)
        self._history.record(cluster)

    def reconnected(self, cluster: str, node: str | None) -> None:
        self._context.spawn(reconcile(self._context, cluster, node), f"reconcile {cluster}/{node or ''}")


@asynccontextmanager
async def running_engine(context: Context, builders: Mapping[str, Builder] | None = None) -> AsyncIterator[None]:
    """Run the engine. `builders` make a backend from the settings of a cluster, by name of the backend."""
    context.store.listen(context.hub.publish)
    context.hub.last_seq = await context.store.last_event()
    context.config.start(context.clusters)
    listener = _Listener(context)
    fleet = Fleet(context, listener, builders or {})
    loops: list[asyncio.Task[None]] = []
    try:
        context.reported_metrics.since = context.clock()
        context.is_held = await context.store.is_restored()
        await fleet.build()
        context.marks = {(mark.cluster, mark.node): mark for mark in await context.store.node_marks()}
        await load(context)
        await load_sweeps(context)
        await remove_unfinished(context)
        await fleet.start()

        async def settings_changed() -> None:
            await fleet.follow()
            for name in list(context.clusters):
                listener.nodes_changed(name)  # their nodes may have other labels
            await check_access(context)
            await warn_of_unknown_names(context)

        loops += [
            asyncio.create_task(run_cycles(context), name="cycles"),
            asyncio.create_task(run_sweeps(context), name="sweeps"),
            asyncio.create_task(run_polling(context), name="polling"),
            asyncio.create_task(run_resync(context), name="resync"),
            asyncio.create_task(run_retention(context), name="retention"),
            asyncio.create_task(run_disk_usage(context), name="disk usage"),
            asyncio.create_task(UsageHistory(context).run(), name="usage history"),
            asyncio.create_task(context.config.follow(context.clusters, settings_changed), name="config"),
        ]
        context.wake.set()
        context.spawn(check_access(context), "access")
        yield
    finally:
        for loop in loops:
            loop.cancel()
        listener.liveness.close()
        await asyncio.gather(*loops, return_exceptions=True)
        await context.drain()
        await fleet.close()
