"""The time limits of running jobs. Their timers are set again from the store after a restart."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from muster.domain.completion import time_limit_fault
from muster.domain.faults import Fault
from muster.domain.jobs import Running
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry
from muster.lib.quantities import format_duration

Expire = Callable[[Context, Entry, int, Fault], Coroutine[Any, Any, None]]


def watch_time_limit(context: Context, entry: Entry, expire: Expire) -> None:
    limit_s = entry.job.spec.time_limit_s
    if limit_s is None or not isinstance(entry.job.state, Running):
        return
    delay_s = max(0.0, entry.job.state.since + limit_s - context.clock())
    attempt, fault = entry.job.attempt, time_limit_fault(format_duration(limit_s))
    entry.deadline = asyncio.get_running_loop().call_later(
        delay_s, lambda: context.spawn(expire(context, entry, attempt, fault), f"expire {entry.job.id}")
    )
