"""Shows a job as it would be started, where and when, and starts nothing."""

from dataclasses import dataclass, replace
from enum import StrEnum

from muster.domain.jobs import Job, Queued
from muster.domain.launch_requests import LaunchRequest
from muster.domain.resources import Placement
from muster.domain.specs import JobSpec
from muster.engine.context import Context
from muster.engine.data.job_secrets import NOTHING_CARRIED, Carried
from muster.engine.lifecycle.dependencies import hypothetical_demand
from muster.engine.lifecycle.launching import attempt_tasks, compose_gang, gang_for, port_counts
from muster.engine.requests.admission import admit
from muster.engine.requests.schedule import LookAhead
from muster.launch.composing import ports_needed
from muster.ports.backend import Rendered
from muster.scheduling.allocations.usage_views import WhatIf
from muster.scheduling.demand import Slot

_NOTHING_KNOWN = WhatIf((), None)


class PlacedAs(StrEnum):
    """What the nodes and devices of a dry run are."""

    NOW = "now"
    """Those that the tasks would get now."""
    ALONE = "alone"
    """Those that they would have if no other job ran: they would wait, or nothing is known about when they start."""
    ENGINE = "engine"
    """Those that the engine of the cluster chooses."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """A job as it would be started: the launch request of each task, and how the backend would render them."""

    job: Job
    requests: tuple[LaunchRequest, ...]
    rendered: Rendered
    supposed: WhatIf
    """Why it would wait and about when it would start, as for a waiting job."""
    placed_as: PlacedAs


async def dry_run(
    context: Context, look_ahead: LookAhead, spec: JobSpec, owner: str, carried: Carried = NOTHING_CARRIED
) -> DryRun:
    """Ports are shown from 20000 up; real ones are reserved when the job starts."""
    job = replace(await admit(context, spec, owner, carried), attempt=1)
    backend = context.backends[job.cluster]
    supposed = await _supposed(context, look_ahead, job)
    if context.engine(job.cluster) is None:
        tasks = attempt_tasks(job, 1, _shown_placements(context, job, supposed.slots), context.clock())
        placed_as = PlacedAs.NOW if supposed.slots else PlacedAs.ALONE
    else:
        unplaced = {(role.name, index): Placement("") for role in spec.roles for index in range(role.replicas)}
        gang = gang_for(context, job, attempt_tasks(job, 1, unplaced, context.clock()))
        tasks = list(await backend.assign(gang, port_counts(gang)))
        placed_as = PlacedAs.ENGINE
    launch = compose_gang(context, job, tasks)
    return DryRun(job, launch.requests, backend.render(launch), supposed, placed_as)


async def _supposed(context: Context, look_ahead: LookAhead, job: Job) -> WhatIf:
    """Nothing is known of a job that is submitted on hold, nor when an engine starts what it is given at once."""
    if not isinstance(job.state, Queued):
        return _NOTHING_KNOWN
    found = await look_ahead.supposed(context, job.cluster, hypothetical_demand(context, job))
    return replace(found, start=None) if found.slots and context.engine(job.cluster) is not None else found


def _shown_placements(context: Context, job: Job, slots: tuple[Slot, ...]) -> dict[tuple[str, int], Placement]:
    """A gang of which it is not known where it fits is shown on the first node, with devices in order."""
    addresses = {node.name: node.address for node in context.backends[job.cluster].nodes()}
    first = next(iter(addresses), "")
    slots = slots or context.clusters[job.cluster].slots_alone(context.demand_of(job)) or ()
    found = {(slot.role, slot.index): slot for slot in slots}
    placements: dict[tuple[str, int], Placement] = {}
    port, device = 20000, 0
    for role in job.spec.roles:
        for index in range(role.replicas):
            count, gpus = ports_needed(job.spec, role, index), role.resources.gpus
            in_order = tuple(range(device, device + gpus))
            slot = found.get((role.name, index)) or Slot(role.name, index, first, role.resources, in_order)
            ports = tuple(range(port, port + count))
            where = slot.node, addresses.get(slot.node, "")
            placements[role.name, index] = Placement(*where, slot.devices, ports, extended=slot.extended)
            port, device = port + count, device + gpus
    return placements
