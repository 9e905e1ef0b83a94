"""The engine as a whole: starts in the right order, runs its loops, stops without touching a task."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from muster.engine.context import Context
from muster.engine.cycling import run_cycles
from muster.engine.fleet import Builder, Fleet
from muster.engine.observing import receive
from muster.engine.recalling import run_recalling
from muster.engine.reconciling import load, reconcile
from muster.engine.retaining import run_retention
from muster.ports.backend import Observation


class _Listener:
    """What the backends call."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def task_observed(self, observation: Observation) -> None:
        receive(self._context, observation)

    def nodes_changed(self, cluster: str) -> None:
        state = self._context.clusters[cluster]
        nodes = self._context.nodes(cluster)
        for node in nodes:
            state.node_changed(node.in_service())
        self._context.sharing.nodes_changed(state, nodes)
        self._context.wake.set()

    def reconnected(self, cluster: str) -> None:
        self._context.spawn(reconcile(self._context, cluster), f"reconcile {cluster}")


@asynccontextmanager
async def running_engine(context: Context, builders: Mapping[str, Builder] | None = None) -> AsyncIterator[None]:
    """`builders`: by name of backend, how one is made from what a file says of a cluster."""
    context.store.listen(context.hub.publish)
    context.hub.last_seq = await context.store.last_event()
    context.sharing.start(context.clusters)
    listener = _Listener(context)
    fleet = Fleet(context, listener, builders or {})
    fleet.build()
    await load(context)
    await fleet.start()

    async def settings_changed() -> None:
        await fleet.follow()
        for name in list(context.clusters):
            listener.nodes_changed(name)  # their nodes may have other labels

    loops = [
        asyncio.create_task(run_cycles(context), name="cycles"),
        asyncio.create_task(run_recalling(context), name="recalling"),
        asyncio.create_task(run_retention(context), name="retention"),
        asyncio.create_task(context.sharing.follow(context.clusters, settings_changed), name="sharing"),
    ]
    context.wake.set()
    try:
        yield
    finally:
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)
        await context.drain()
        await fleet.close()
