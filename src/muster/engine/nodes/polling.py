"""Polls engines for the state of their tasks, as often as each engine wants, and only while somebody needs it.

Agents push what they observe. An engine such as Slurm is polled for all of its tasks at once, and its answer is
complete: a task that it does not list is gone. With the answer, the engine also learns what others use of it. While it
has no task, that may still let a waiting job start, so it is polled then, too, but less often.
"""

import asyncio
from math import inf

import structlog

from muster.domain.errors import MusterError
from muster.domain.jobs import HOLDING
from muster.engine.context import Context
from muster.engine.lifecycle.reconciling import reconcile

_log = structlog.get_logger("engine.polling")


async def run_polling(context: Context) -> None:
    due: dict[str, float] = {}
    polled: set[str] = set()  # a slow engine delays no other
    loop = asyncio.get_running_loop()
    while True:
        due = {name: min(due.get(name, inf), loop.time() + every_s) for name, every_s in intervals(context).items()}
        await _wait(context, min(due.values(), default=None))
        needed = intervals(context)
        for name in [name for name, at in due.items() if at <= loop.time()]:
            del due[name]
            if name in needed and name not in polled:
                polled.add(name)
                context.spawn(_poll(context, name, polled), f"poll {name}")


def intervals(context: Context) -> dict[str, float]:
    """How often each engine is polled, in seconds. Those that have no task, and for which no job waits, are not."""
    holding = {entry.job.cluster for entry in context.open_jobs.entries() if isinstance(entry.job.state, HOLDING)}
    found: dict[str, float] = {}
    for name, cluster in context.clusters.items():
        engine = context.engine(name)
        if engine is not None and name in holding:
            found[name] = engine.poll_s
        elif engine is not None and cluster.is_short:
            found[name] = max(engine.poll_s, context.poll_waiting_s)
    return found


async def _wait(context: Context, until: float | None) -> None:
    """Wait until then, or until another engine may have to be polled."""
    try:
        async with asyncio.timeout_at(until):
            await context.engine_needed.wait()
    except TimeoutError:
        return
    context.engine_needed.clear()


async def _poll(context: Context, cluster: str, polled: set[str]) -> None:
    engine = context.engine(cluster)
    try:
        if engine is not None and context.clusters[cluster].is_short:
            await engine.look(context.poll_waiting_s)  # others may have left
        await reconcile(context, cluster)
    except MusterError as error:
        _log.warning("engine not polled", cluster=cluster, error=str(error))
    except Exception:
        _log.exception("polling failed", cluster=cluster)
    finally:
        polled.discard(cluster)
