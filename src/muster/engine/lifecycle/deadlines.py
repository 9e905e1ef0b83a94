"""The time limits of running jobs. Their timers are set again from the store after a restart."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from muster.domain.completion import time_limit_fault
from muster.domain.failures.faults import Fault
from muster.domain.jobs import Running, Starting
from muster.domain.tasks import TaskPreparing
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry
from muster.lib.quantities import format_duration

Expire = Callable[[Context, Entry, int, Fault], Coroutine[Any, Any, None]]


def watch_time_limit(context: Context, entry: Entry, expire: Expire) -> None:
    limit_s, since = entry.job.spec.time_limit_s, _since(entry)
    if limit_s is None or since is None:
        return
    delay_s = max(0.0, since + limit_s - context.clock())
    attempt, fault = entry.job.attempt, time_limit_fault(format_duration(limit_s))
    entry.deadline = asyncio.get_running_loop().call_later(
        delay_s, lambda: context.spawn(expire(context, entry, attempt, fault), f"expire {entry.job.id}")
    )


def _since(entry: Entry) -> float | None:
    """Since when the time of the attempt counts: it does from its setup on."""
    state = entry.job.state
    if isinstance(state, Running):
        return state.since
    if not isinstance(state, Starting) or entry.job.spec.setup is None:
        return None
    tasks = entry.current_tasks()
    return min((task.state.since for task in tasks if isinstance(task.state, TaskPreparing)), default=None)
