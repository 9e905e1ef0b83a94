"""The loop that carries sweeps on: it makes their members, stops them and notices their end.

It is level-triggered: it looks at what is open and does what is missing, so that it makes no difference where a server
that did it before has died.
"""

import asyncio
from dataclasses import replace

import structlog

from muster.domain.errors import Conflict, MusterError, NotFound
from muster.domain.jobs import GOES_ON, Stopping
from muster.engine.context import Context
from muster.engine.requests.commands import kill
from muster.engine.state.open_jobs import Entry
from muster.engine.state.open_sweeps import OpenSweep
from muster.engine.sweeps.early_stopping import stop_behind
from muster.engine.sweeps.members import enter, next_members, room_in
from muster.ports.store import Change

_log = structlog.get_logger("engine.sweeps")
_AGAIN_S = 2.0
"""How long a sweep waits that could not be carried on: nothing says that a place in a queue is free. Metrics are looked
at as often, where members are stopped early."""
_KILLED_AT_ONCE = 100


async def load_sweeps(context: Context) -> None:
    context.open_sweeps = {sweep.id: OpenSweep(sweep) for sweep in await context.store.open_sweeps()}


async def run_sweeps(context: Context) -> None:
    woken = context.open_jobs.member_ended
    woken.set()
    while True:
        is_waiting = context.is_held or any(map(_looks_again, context.open_sweeps.values()))
        try:
            await asyncio.wait_for(woken.wait(), _AGAIN_S if is_waiting else None)
        except TimeoutError:
            pass
        woken.clear()
        if context.is_held:
            continue
        for entry in list(context.open_sweeps.values()):
            await _carry_on(context, entry)


def _looks_again(entry: OpenSweep) -> bool:
    return bool(entry.waits_for) or entry.sweep.plan.stop_early is not None


async def _carry_on(context: Context, entry: OpenSweep) -> None:
    async with entry.lock:
        try:
            if not entry.is_certain:
                entry.sweep, entry.is_certain = await context.store.sweep(entry.sweep.id), True
            entry.waits_for = ""
            await advance(context, entry)
        except NotFound:
            context.open_sweeps.pop(entry.sweep.id, None)  # its submission was refused, or never arrived
        except MusterError as error:
            entry.waits_for, entry.is_certain = str(error), False
        except Exception:
            _log.exception("sweep not carried on", sweep=entry.sweep.id)  # the next event finds the loop alive
            entry.waits_for, entry.is_certain = "an error of the server, which its log has", False


async def advance(context: Context, entry: OpenSweep) -> None:
    """Do what the sweep needs now."""
    if entry.sweep.stopped_by:
        await _kill(context, context.open_jobs.members_of(entry.sweep.id), entry.sweep.stopped_by)
    await stop_behind(context, entry)
    while room := room_in(context, entry.sweep):
        made = await next_members(context, entry.sweep, room)
        await context.apply_all([Change(sweep=made.sweep), *made.changes()])
        entry.sweep = made.sweep
        enter(context, made)
    if not entry.sweep.wants_more and not context.open_jobs.count_members(entry.sweep.id):
        await _end(context, entry)


async def _end(context: Context, entry: OpenSweep) -> None:
    """The store is asked, too: it may have members of a write that was not confirmed, which are in memory soon."""
    sweep = entry.sweep
    if (await context.store.member_counts([sweep.id]))[sweep.id].is_open:
        entry.waits_for = "members that were just made"
        return
    ended = replace(sweep, ended_at=context.clock(), version=sweep.version + 1)
    await context.apply(Change(sweep=ended))
    entry.sweep = ended
    context.open_sweeps.pop(sweep.id, None)


async def _kill(context: Context, members: list[Entry], actor: str) -> None:
    open_ones = [entry for entry in members if not _is_being_stopped(entry)]
    for place in range(0, len(open_ones), _KILLED_AT_ONCE):
        await asyncio.gather(*(_kill_one(context, one, actor) for one in open_ones[place : place + _KILLED_AT_ONCE]))


async def _kill_one(context: Context, entry: Entry, actor: str) -> None:
    try:
        await kill(context, entry.job.id, actor)
    except Conflict:
        return  # it has ended meanwhile


def _is_being_stopped(entry: Entry) -> bool:
    state = entry.job.state
    return isinstance(state, Stopping) and state.verdict.outcome not in GOES_ON
