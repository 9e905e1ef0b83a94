"""Makes the members of a sweep, many in one transaction, and each exactly once.

The number of the last member that was made is stored with the jobs, guarded by the version of the sweep. A server that
dies in between has written both or none, and the next one goes on from there.
"""

from dataclasses import dataclass, replace

from muster.domain.errors import Forbidden
from muster.domain.experiments.sweeps import Sweep, member_spec
from muster.domain.jobs import Job
from muster.engine.context import Context
from muster.engine.lifecycle.dependencies import queue
from muster.engine.requests.admission import admit_alike
from muster.engine.state.event_builders import job_event
from muster.lib.ids import new_id
from muster.ports.store import Change

MOST_AT_ONCE = 250
"""Members of one transaction: as many as are written while a single job would wait some ten milliseconds for it."""
_APART_S = 1e-6
"""The time between the creation of two members, so that they are listed and started in order."""


@dataclass(frozen=True, slots=True)
class Made:
    """A sweep with members that are to be stored together with it."""

    sweep: Sweep
    jobs: tuple[Job, ...] = ()

    def changes(self) -> list[Change]:
        return [Change(new_job=job, events=[job_event(job, job.created_at, actor=job.owner)]) for job in self.jobs]


def room_in(context: Context, sweep: Sweep) -> int:
    """How many members may be made now, by what the sweep itself says."""
    if not sweep.wants_more:
        return 0
    left = sweep.plan.count - sweep.made
    if sweep.plan.max_running is not None:
        left = min(left, sweep.plan.max_running - context.open_jobs.count_members(sweep.id))
    return max(0, min(left, MOST_AT_ONCE))


async def next_members(context: Context, sweep: Sweep, most: int) -> Made:
    """The next members, which are not stored yet. There is at least one. They are admitted like any other job, and
    refused like it: the cluster or the limits may have changed since the sweep was submitted."""
    await _require_owner(context, sweep)
    first = sweep.made + 1
    admitted, count = await admit_alike(context, member_spec(sweep.spec, sweep, first), sweep.owner, most)
    jobs = tuple(
        replace(
            admitted,
            id=new_id(),
            spec=member_spec(admitted.spec, sweep, number),
            created_at=admitted.created_at + (number - first) * _APART_S,
            sweep=sweep.id,
            member=number,
        )
        for number in range(first, first + count)
    )
    return Made(replace(sweep, made=sweep.made + count, version=sweep.version + 1), jobs)


def enter(context: Context, made: Made) -> None:
    """Pass members that were stored to the scheduler."""
    for job in made.jobs:
        queue(context, context.open_jobs.add(job))


async def _require_owner(context: Context, sweep: Sweep) -> None:
    user = await context.store.user(sweep.owner)
    if user is None:
        raise Forbidden(f"there is no user {sweep.owner} any more", hint="an admin can stop the sweep")
    if user.disabled:
        raise Forbidden(f"user {sweep.owner} is disabled", hint="stop the sweep, or ask an admin")
