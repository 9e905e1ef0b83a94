"""Reads whole those runs that an answer shows, and never more of them than fit into one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster.domain.experiments.runs import Run
from muster.ports.store import JobFilter, Store

MOST_BYTES = 8 << 20
"""An answer ends about here, and what follows is another page."""
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class RunPage:
    runs: Sequence[Run]
    taken: int
    """How many of the ids that were asked for are done with. Runs that were deleted meanwhile are among them."""


async def read_runs(store: Store, ids: Sequence[str], metrics: Sequence[str] = ()) -> RunPage:
    """The first of these runs, in this order, without what is only in their specs."""
    found: list[Run] = []
    room = MOST_BYTES
    for begin in range(0, len(ids), _AT_ONCE):
        batch = ids[begin : begin + _AT_ONCE]
        sizes = await store.run_bytes(batch, metrics=metrics)
        fit = fitting(batch, sizes, room, least=0 if found else 1)
        if fit:
            read = await store.runs(JobFilter(ids=tuple(fit)), limit=len(fit), metrics=metrics)
            found += in_order(read, fit)
        if len(fit) < len(batch):
            return RunPage(found, begin + len(fit))
        room -= sum(sizes.values())
    return RunPage(found, len(ids))


async def read_whole_runs(store: Store, ids: Sequence[str], metrics: Sequence[str] = ()) -> RunPage:
    """The same of few runs, with their variables and labels."""
    sizes = await store.run_bytes(ids, metrics=metrics, with_specs=True)
    fit = fitting(ids, sizes, MOST_BYTES, least=1)
    read = await store.whole_runs(JobFilter(ids=tuple(fit)), limit=len(fit), metrics=metrics)
    return RunPage(in_order(read, fit), len(fit))


def fitting(ids: Sequence[str], sizes: Mapping[str, int], room: int, least: int) -> Sequence[str]:
    """The first ones, as many as there is room for, and at least so many."""
    for place, run_id in enumerate(ids):
        room -= sizes.get(run_id, 0)
        if room < 0 and place >= least:
            return ids[:place]
    return ids


def in_order(runs: Sequence[Run], ids: Sequence[str]) -> list[Run]:
    known = {run.id: run for run in runs}
    return [known[run_id] for run_id in ids if run_id in known]
