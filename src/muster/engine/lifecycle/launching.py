"""Turns a planned start into running tasks: it assigns addresses, commits the intent, and then launches."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from muster.domain.elastic import sizes_of, spec_of_attempt
from muster.domain.errors import BackendError, MusterError, Rejected, Unreachable
from muster.domain.events import Event
from muster.domain.failures.exit_causes import LAUNCH_ERRORS, REJECTED
from muster.domain.gangs import Gang, make_gang
from muster.domain.jobs import Job, Starting, Tally, move
from muster.domain.launch_requests import GangLaunch
from muster.domain.nodes import Node
from muster.domain.resources import Placement
from muster.domain.tasks import Task, TaskLaunching, TaskPreparing, task_id
from muster.engine.context import Context
from muster.engine.data.report_tokens import report_token_values
from muster.engine.data.secrets import secret_values
from muster.engine.data.ssh_keys import ssh_key_values
from muster.engine.lifecycle.access_holds import hold_without_access
from muster.engine.lifecycle.dependencies import enqueue
from muster.engine.lifecycle.observing import receive
from muster.engine.lifecycle.rollback import release_ports, roll_back
from muster.engine.state.event_builders import job_event
from muster.engine.state.open_jobs import Entry
from muster.launch.composing import compose, ports_needed
from muster.launch.folder_paths import with_absolute_paths
from muster.launch.mlflow_access import reports
from muster.lib.backoff import exponential
from muster.ports.backend import Backend, Launched, Observation, Phase
from muster.ports.capabilities import Unready
from muster.ports.store import Change
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import Slot
from muster.scheduling.plan import Start

_log = structlog.get_logger("engine.launching")
ASK_AGAIN_S = 10.0
"""How long after an unanswered launch the node is asked again, over a connection that may be fine."""


async def launch(context: Context, cluster: ClusterState, start: Start) -> None:
    entry = context.open_jobs.get(start.job_id)
    if entry is None:
        cluster.released(start.job_id)
        return
    async with entry.lock:
        if not cluster.is_planned(start):
            return  # it was held or killed meanwhile, which freed its allocation; it may even be planned again
        try:
            if await hold_without_access(context, entry):
                return
            intent = await intend(context, entry.job, start)
            await context.apply(intent.change())
        except MusterError as error:
            _log.warning("start put off", job=entry.job.id, error=str(error))
            release_attempt(context, entry.job, planned_tasks(context, entry.job, start))
            enqueue(context, entry, not_before=context.clock() + exponential(1))
            return
        entry.job, entry.tasks = intent.job, {task.id: task for task in intent.tasks}
        entry.launched.clear()
    await launch_pending(context, entry)


@dataclass(frozen=True, slots=True)
class Intent:
    """An attempt as it is written before anything is launched."""

    job: Job
    tasks: tuple[Task, ...]
    at: float

    def event(self) -> Event:
        return job_event(self.job, self.at)

    def change(self) -> Change:
        return Change(job=self.job, tasks=self.tasks, events=[self.event()])


async def intend(context: Context, job: Job, start: Start) -> Intent:
    """Assign addresses to the next attempt. Nothing is written yet."""
    sized = _sized(job, start)
    gang = gang_for(context, replace(sized, attempt=job.attempt + 1), planned_tasks(context, job, start))
    tasks = await context.backends[job.cluster].assign(gang, port_counts(gang))
    now = context.clock()
    starting = move(sized, Starting(now), reason="")
    return Intent(replace(starting, tally=Tally(active=len(tasks))), tasks, now)


def release_attempt(context: Context, job: Job, tasks: Sequence[Task]) -> None:
    """Free the allocation and the ports of an attempt of which nothing was started."""
    context.clusters[job.cluster].released(job.id)
    release_ports(context, gang_for(context, replace(job, attempt=job.attempt + 1), tasks), job.cluster)


async def launch_pending(context: Context, entry: Entry) -> None:
    """Launch the tasks of the current attempt that are not known to have started. This is safe to repeat."""
    backend = context.backends[entry.job.cluster]
    try:
        tasks = entry.current_tasks()
        started = frozenset(task.id for task in tasks if not may_be_launched(context, entry.job, task))
        composed = replace(compose_gang(context, entry.job, tasks), started=started)
        if not composed.pending:
            return
        unready = await _prepare(entry, backend, composed)
        if unready:
            await roll_back(context, entry, unready)
        if unready is None or unready:
            return
        launched = await _launched_with_secrets(context, entry, backend, composed)
        if launched is None:
            return
        is_answered = _accept(context, entry, composed, launched)
    finally:
        entry.launched.set()
    if not is_answered:
        asyncio.get_running_loop().call_later(ASK_AGAIN_S, _ask_again, context, entry, entry.job.attempt)


def may_be_launched(context: Context, job: Job, task: Task) -> bool:
    """Whether the task is not known to have started. An agent that dies while it prepares a task leaves it prepared,
    and only a launch continues it. An engine must never be given the same task twice."""
    is_preparing = isinstance(task.state, TaskPreparing) and context.engine(job.cluster) is None
    return is_preparing or isinstance(task.state, TaskLaunching)


async def _launched_with_secrets(
    context: Context, entry: Entry, backend: Backend, composed: GangLaunch
) -> Launched | None:
    """Launch with the present values of the job's secrets, so that a retry uses new ones. Returns None if the job was
    stopped meanwhile."""
    job = entry.job
    if not job.spec.secret_names and job.spec.ssh is None and not reports(job.spec):
        return await _launched(backend, composed)
    try:
        values = await _values(context, job)
    except MusterError as error:
        return _refused(composed, error)
    if not (isinstance(entry.job.state, Starting) and entry.job.attempt == job.attempt):
        return None
    return await _launched(backend, replace(composed, secret_values=values))


async def _values(context: Context, job: Job) -> dict[str, bytes]:
    values = await secret_values(context, job.owner, job.spec) if job.spec.secret_names else {}
    keys = await ssh_key_values(context, job) if job.spec.ssh is not None else {}
    return {**values, **keys, **await report_token_values(context, job)}


async def _launched(backend: Backend, composed: GangLaunch) -> Launched:
    try:
        return await backend.launch(composed)
    except Unreachable:
        return Launched()
    except MusterError as error:
        return _refused(composed, error)


def _refused(composed: GangLaunch, error: MusterError) -> Launched:
    refused = error if isinstance(error, BackendError) else BackendError(error.message, reason=error.code)
    return Launched(refused={request.task_id: refused for request in composed.pending})


def _accept(context: Context, entry: Entry, composed: GangLaunch, launched: Launched) -> bool:
    """Pass on what became of each task. Returns whether every task was answered for; one without an answer may have
    started nevertheless."""
    for task, error in launched.refused.items():
        refusal = Observation(task, Phase.ENDED, error_code=_launch_error(error), error_message=error.message)
        receive(context, refusal)
    if launched.handles and context.engine(entry.job.cluster) is not None:
        for task, handle in launched.handles.items():
            # This is written at once: what the engine has taken must never be handed over again, whatever it forgets.
            receive(context, Observation(task, Phase.WAITING, handle))
        context.engine_needed.set()
    return all(one.task_id in launched.handles or one.task_id in launched.refused for one in composed.pending)


def _launch_error(error: BackendError) -> str:
    """The code by which the failure is classified. A rejected launch is not tried again."""
    code = error.reason or error.code
    return REJECTED if isinstance(error, Rejected) and code not in LAUNCH_ERRORS else code


def _ask_again(context: Context, entry: Entry, attempt: int) -> None:
    """Ask a node again that is reachable and did not answer. For an unreachable one, reconciliation or liveness
    decides."""
    if entry.job.attempt == attempt:
        context.spawn(relaunch(context, entry), f"launch {entry.job.id}")


async def relaunch(context: Context, entry: Entry) -> None:
    """Launch again what is not known to have started. A launch that is under way ends first: some of its answers may
    be of an agent that is gone by now."""
    attempt = entry.job.attempt
    while not entry.launched.is_set():
        await entry.launched.wait()
    is_current = isinstance(entry.job.state, Starting) and entry.job.attempt == attempt
    if is_current and context.open_jobs.get(entry.job.id) is entry:
        entry.launched.clear()
        await launch_pending(context, entry)


async def _prepare(entry: Entry, backend: Backend, composed: GangLaunch) -> list[Unready] | None:
    """The start barrier: every node of the gang has what it needs before the first task is launched. Returns None if
    the job was stopped meanwhile; tasks that were never launched end when their nodes are asked to stop them."""
    shipping = backend.capabilities.shipping
    if shipping is None or not any(request.digests for request in composed.pending):
        return []  # nothing is to be sent: the launch goes out in this very step of the event loop
    attempt = entry.job.attempt
    preparing = entry.preparing = asyncio.create_task(shipping.prepare(composed))
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


def gang_for(context: Context, job: Job, tasks: Sequence[Task]) -> Gang:
    """The current attempt of the job as backends and frameworks see it, with folders turned into paths of the nodes."""
    spec = with_absolute_paths(spec_of_attempt(job), context.backends[job.cluster].settings)
    return make_gang(job.id, job.owner, job.vc or job.cluster, job.attempt, spec, tasks)


def port_counts(gang: Gang) -> dict[str, int]:
    """How many ports each task needs, by task id."""
    spec = gang.spec
    return {task.id: ports_needed(spec, spec.role(task.role), task.index) for task in gang.tasks}


def compose_gang(context: Context, job: Job, tasks: Sequence[Task]) -> GangLaunch:
    """The exact requests that are sent, which `--dry-run` shows."""
    conda_root = context.backends[job.cluster].settings.conda_root
    return compose(gang_for(context, job, tasks), conda_root=conda_root, address=context.public_address)


def attempt_tasks(job: Job, attempt: int, placements: dict[tuple[str, int], Placement], now: float) -> list[Task]:
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


def planned_tasks(context: Context, job: Job, start: Start) -> list[Task]:
    """The tasks of the next attempt, placed as the scheduler planned. Where there is an engine, it chooses their nodes
    later."""
    if context.engine(job.cluster) is not None:
        placements = {
            (slot.role, slot.index): Placement("", pool_devices=slot.devices, extended=slot.extended)
            for slot in start.slots
        }
    else:
        nodes = {node.name: node for node in context.backends[job.cluster].nodes()}
        placements = {(slot.role, slot.index): _placement(slot, nodes.get(slot.node)) for slot in start.slots}
    return attempt_tasks(_sized(job, start), job.attempt + 1, placements, context.clock())


def _placement(slot: Slot, node: Node | None) -> Placement:
    if node is None:
        return Placement(slot.node, "", slot.devices, extended=slot.extended)
    models = {device.model for device in node.capacity.devices if device.index in slot.devices}
    return Placement(slot.node, node.address, slot.devices, extended=slot.extended, models=tuple(sorted(models)))


def _sized(job: Job, start: Start) -> Job:
    sizes = sizes_of(job.spec, (slot.role for slot in start.slots))
    return replace(job, sizes=sizes, checkpoint_at=None, tracking_url="")
