"""Polls engines for the state of their tasks, as often as each engine wants, and only while it has tasks.

Agents push what they observe. An engine such as Slurm is polled for all of its tasks at once, and its answer is
complete: a task that it does not list is gone.
"""

import asyncio
from collections.abc import Iterator

import structlog

from muster.domain.errors import MusterError
from muster.domain.jobs import HOLDING
from muster.engine.context import Context
from muster.engine.lifecycle.reconciling import reconcile
from muster.ports.capabilities import EngineQueue

_log = structlog.get_logger("engine.polling")


async def run_polling(context: Context) -> None:
    due: dict[str, float] = {}
    loop = asyncio.get_running_loop()
    while True:
        live = dict(_live_engines(context))
        due = {name: due.get(name, loop.time() + engine.poll_s) for name, engine in live.items()}
        await _wait(context, min(due.values(), default=None))
        for name in [name for name, at in due.items() if at <= loop.time()]:
            del due[name]
            await _poll(context, name)


def _live_engines(context: Context) -> Iterator[tuple[str, EngineQueue]]:
    """The engines that have, or should have, a task."""
    clusters = {entry.job.cluster for entry in context.open_jobs.entries() if isinstance(entry.job.state, HOLDING)}
    for name in clusters:
        if (engine := context.engine(name)) is not None:
            yield name, engine


async def _wait(context: Context, until: float | None) -> None:
    """Wait until then, or until a gang is handed over."""
    try:
        async with asyncio.timeout_at(until):
            await context.handed_over.wait()
    except TimeoutError:
        return
    context.handed_over.clear()


async def _poll(context: Context, cluster: str) -> None:
    try:
        await reconcile(context, cluster)
    except MusterError as error:
        _log.warning("engine not polled", cluster=cluster, error=str(error))
    except Exception:
        _log.exception("polling failed", cluster=cluster)  # the next round finds the loop alive
