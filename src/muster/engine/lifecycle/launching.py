"""From a planned start to running tasks: reserve ports, commit the intent, then act."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path

import structlog

from muster.domain.elastic import sizes_of, spec_of_attempt
from muster.domain.errors import BackendError, MusterError
from muster.domain.events import Event
from muster.domain.jobs import Job, Starting, Tally, move
from muster.domain.resources import Placement
from muster.domain.tasks import Task, TaskLaunching, task_id
from muster.engine.context import Context
from muster.engine.lifecycle.node_exclusion import elsewhere
from muster.engine.lifecycle.observing import receive
from muster.engine.lifecycle.rollback import port_owner, release_ports, undo
from muster.engine.state.event_builders import job_event
from muster.engine.state.open_jobs import Entry
from muster.launch.composing import Composed, compose, ports_needed
from muster.launch.folder_paths import with_absolute_paths
from muster.lib.backoff import exponential
from muster.ports.backend import (
    CONNECTION_LOST,
    Backend,
    InputSource,
    LaunchRequest,
    Observation,
    PackageSource,
    Phase,
    Unready,
)
from muster.ports.store import Change
from muster.scheduling.demand import Start
from muster.scheduling.state import ClusterState

_log = structlog.get_logger("engine.launching")
ASK_AGAIN_S = 10.0
"""After a launch that nobody answered, on a line that may be whole."""


async def launch(context: Context, cluster: ClusterState, start: Start) -> None:
    entry = context.roster.get(start.job_id)
    if entry is None:
        cluster.released(start.job_id)
        return
    async with entry.turn:
        if not cluster.is_planned(start):
            return  # held or killed meanwhile, which gave its places back; perhaps even planned anew
        try:
            intent = await intend(context, entry.job, start)
            await context.apply(intent.change())
        except MusterError as error:
            _log.warning("start put off", job=entry.job.id, error=str(error))
            give_back(context, entry.job, {slot.node for slot in start.slots})
            demand = elsewhere(context, entry, context.demand_of(entry.job))
            cluster.queued(replace(demand, not_before=context.clock() + exponential(1)))
            context.wake.set()
            return
        entry.job, entry.tasks = intent.job, {task.id: task for task in intent.tasks}
        entry.launched.clear()
    await act(context, entry)


@dataclass(frozen=True, slots=True)
class Intent:
    """The attempt as it will be written before anything acts on it."""

    job: Job
    tasks: tuple[Task, ...]
    at: float

    def event(self) -> Event:
        return job_event(self.job, self.at)

    def change(self) -> Change:
        return Change(job=self.job, tasks=self.tasks, events=[self.event()])


async def intend(context: Context, job: Job, start: Start) -> Intent:
    """Reserve the ports; nothing is written yet."""
    sized = replace(job, sizes=sizes_of(job.spec, (slot.role for slot in start.slots)), checkpoint_at=None)
    planned = _planned(context, sized, job.attempt + 1, start)
    tasks = await _reserved(context.backends[job.cluster], planned, sized)
    now = context.clock()
    starting = move(sized, Starting(now), reason="")
    return Intent(replace(starting, tally=Tally(active=len(tasks))), tuple(tasks), now)


def give_back(context: Context, job: Job, nodes: Iterable[str]) -> None:
    """Nothing was started: places and ports are free again."""
    context.clusters[job.cluster].released(job.id)
    release_ports(context, job, job.attempt + 1, nodes)


async def act(context: Context, entry: Entry) -> None:
    """Launch whatever of the current attempt is not known to have started. Safe to repeat."""
    backend = context.backends[entry.job.cluster]
    try:
        requests = [
            request
            for request in requests_for(context, entry.job, entry.current_tasks())
            if isinstance(entry.tasks[request.task_id].state, TaskLaunching)
        ]
        unready = await _prepare(entry, backend, requests)
        if unready:
            await undo(context, entry, unready)
        if unready is None or unready:
            return
        launches = [_launch_one(context, backend, request) for request in _in_turns(requests)]
        answered = [await launches[0]] if len(launches) == 1 else await asyncio.gather(*launches)
    finally:
        entry.launched.set()
    if not all(answered):
        asyncio.get_running_loop().call_later(ASK_AGAIN_S, _act_again, context, entry, entry.job.attempt)


def _act_again(context: Context, entry: Entry, attempt: int) -> None:
    """A node that is there and did not answer is asked again; of one that is away, reconciling or silence decides."""
    is_open = isinstance(entry.job.state, Starting) and entry.job.attempt == attempt and entry.launched.is_set()
    if is_open and context.roster.get(entry.job.id) is entry:
        entry.launched.clear()
        context.spawn(act(context, entry), f"launch {entry.job.id}")


async def _prepare(entry: Entry, backend: Backend, requests: Sequence[LaunchRequest]) -> list[Unready] | None:
    """The start barrier: every node of the gang has what it needs before the first task is launched. None when the job
    was stopped meanwhile: what was never launched ends as soon as its node is told to stop it."""
    if not any(request.sources for request in requests):
        return []  # nothing to bring: the launch goes out in this very turn
    attempt = entry.job.attempt
    preparing = entry.preparing = asyncio.create_task(backend.prepare(requests))
    try:
        unready = await preparing
    except asyncio.CancelledError:
        if isinstance(entry.job.state, Starting):
            raise
        return None
    finally:
        entry.preparing = None
    is_current = isinstance(entry.job.state, Starting) and entry.job.attempt == attempt
    return unready if is_current else None


def requests_for(context: Context, job: Job, tasks: Sequence[Task]) -> list[LaunchRequest]:
    """The exact requests; what `--dry-run` shows is what would be sent."""
    settings = context.backends[job.cluster].settings
    spec = with_absolute_paths(spec_of_attempt(job), settings)
    vc = job.vc or job.cluster
    composed = compose(job.id, job.owner, vc, job.attempt, spec, tasks, conda_root=settings.conda_root)
    return [_request(context, one) for one in composed]


def planned_tasks(job: Job, attempt: int, placements: dict[tuple[str, int], Placement], now: float) -> list[Task]:
    """The gang's tasks in order of rank: roles in the spec's order, then index."""
    tasks: list[Task] = []
    for role in spec_of_attempt(job).roles:
        for index in range(role.replicas):
            tasks.append(
                Task(
                    id=task_id(job.id, attempt, role.name, index),
                    job_id=job.id,
                    attempt=attempt,
                    name=f"{job.name}-{role.name}-{index}",
                    role=role.name,
                    index=index,
                    rank=len(tasks),
                    placement=placements[role.name, index],
                    state=TaskLaunching(now),
                )
            )
    return tasks


def _planned(context: Context, job: Job, attempt: int, start: Start) -> list[Task]:
    addresses = {node.name: node.address for node in context.backends[job.cluster].nodes()}
    placements = {
        (slot.role, slot.index): Placement(slot.node, addresses.get(slot.node, ""), slot.devices)
        for slot in start.slots
    }
    return planned_tasks(job, attempt, placements, context.clock())


async def _reserved(backend: Backend, tasks: list[Task], job: Job) -> list[Task]:
    """The tasks with the ports they need, reserved on all nodes side by side. When one refuses, the others have been
    heard too, so that what they hold can be given back."""
    spec = spec_of_attempt(job)
    needs = {task.id: ports_needed(spec, spec.role(task.role), task.index) for task in tasks}
    by_node: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        if needs[task.id]:
            by_node[task.placement.node].append(task)
    owner = port_owner(tasks[0].job_id, tasks[0].attempt)
    counts = {node: sum(needs[task.id] for task in group) for node, group in by_node.items()}
    answers = await asyncio.gather(
        *(backend.reserve_ports(node, owner, count) for node, count in counts.items()), return_exceptions=True
    )
    ports: dict[str, tuple[int, ...]] = {}
    for group, found in zip(by_node.values(), answers, strict=True):
        if isinstance(found, BaseException):
            raise found
        left = iter(found)
        ports |= {task.id: tuple(islice(left, needs[task.id])) for task in group}
    return [_with_ports(task, ports[task.id]) if task.id in ports else task for task in tasks]


def _with_ports(task: Task, ports: tuple[int, ...]) -> Task:
    return replace(task, placement=replace(task.placement, ports=ports))


def _in_turns(requests: Sequence[LaunchRequest]) -> list[LaunchRequest]:
    """Every node gets its first launch before any gets its second: they start side by side."""
    by_node: dict[str, list[LaunchRequest]] = defaultdict(list)
    for request in requests:
        by_node[request.node].append(request)
    return [request for turn in zip_longest(*by_node.values()) for request in turn if request is not None]


async def _launch_one(context: Context, backend: Backend, request: LaunchRequest) -> bool:
    """Whether there was an answer; without one it may have started all the same."""
    try:
        await backend.launch(request)
    except MusterError as error:
        reason = error.reason if isinstance(error, BackendError) else ""
        if reason == CONNECTION_LOST:
            return False
        ended = Observation(request.task_id, Phase.ENDED, error_code=reason or error.code, error_message=error.message)
        receive(context, ended)
    return True


def _archive(context: Context, digest: str) -> Path:
    return context.packages / f"{digest}.tar.gz"


def _request(context: Context, one: Composed) -> LaunchRequest:
    digest = one.package_digest
    return LaunchRequest(
        task_id=one.task_id,
        node=one.node,
        argv=one.argv,
        env=one.env,
        files=one.files,
        ports=one.ports,
        port_owner=one.task_id.rsplit(".", 2)[0],
        devices=one.devices,
        memory_bytes=one.memory_bytes,
        cpu_m=one.cpu_m,
        package=PackageSource(digest, _archive(context, digest)) if digest else None,
        inputs=tuple(
            InputSource(given.digest, _archive(context, given.digest), given.target, given.member)
            for given in one.inputs
        ),
        image=one.image,
        mounts=one.mounts,
        links=one.links,
    )
