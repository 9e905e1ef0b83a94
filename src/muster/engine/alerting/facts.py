"""Gathers the figures that rules are compared with, from what the engine knows at this moment."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muster.domain.accounts import User, UserRole
from muster.domain.alerting.alert_conditions import SILENT_S, WORKING_PERCENT
from muster.domain.alerting.alert_facts import Facts, GpuFacts, JobFacts, NodeFacts, TaskFacts
from muster.domain.errors import MusterError
from muster.domain.jobs import Job, Queued, Running
from muster.domain.nodes import Node, NodeState
from muster.domain.tasks import Task
from muster.engine.alerts.visible_alerts import visible_alerts
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry
from muster.ports.capabilities import NodeUsage, TaskRef

STALE_S = 60.0
"""A sample that is older than this says nothing."""
_ASK_S = 5.0
_EVERYTHING = User("alerts", UserRole.ADMIN, 0.0)


async def gather_facts(context: Context, certificate_ends_at: float | None) -> Facts:
    now = context.clock()
    usage = {name: backend.capabilities.latest_usage() for name, backend in context.backends.items()}
    fresh = {
        (cluster, node): sample
        for cluster, samples in usage.items()
        for node, sample in samples.items()
        if now - sample.received_at < STALE_S
    }
    entries = context.open_jobs.entries()
    waiting = Counter(entry.job.cluster for entry in entries if isinstance(entry.job.state, Queued))
    return Facts(
        now,
        nodes=tuple(
            _node(node, fresh.get((cluster, node.name)), lists_gpus=context.engine(cluster) is None)
            for cluster in context.backends
            for node in context.nodes(cluster)
        ),
        jobs=tuple([await _job(context, entry, fresh, now) for entry in entries]),
        waiting=tuple(waiting.items()),
        alerts=tuple(await visible_alerts(context, _EVERYTHING)),
        certificate_ends_at=certificate_ends_at,
    )


def gpu_facts(node: Node, metrics: Mapping[str, Any], *, lists_gpus: bool) -> Iterator[GpuFacts]:
    """`lists_gpus` is false where a sample has no GPUs but those of tasks: the others are then not lost."""
    models = {device.index: device.model for device in node.capacity.devices}
    sampled = {int(gpu["index"]): gpu for gpu in metrics.get("gpus") or ()}
    for index in sorted(models.keys() | sampled.keys()):
        gpu = sampled.get(index, {})
        yield GpuFacts(
            index,
            models.get(index, ""),
            gpu.get("temperature_c"),
            int(gpu.get("ecc_errors") or 0),
            is_lost=bool(gpu.get("missing")) or (lists_gpus and index not in sampled),
            foreign=", ".join(f"{one['name']} (pid {one['pid']})" for one in (gpu.get("foreign_pids") or ())[:3]),
        )


def _node(node: Node, sample: NodeUsage | None, *, lists_gpus: bool) -> NodeFacts:
    metrics: Mapping[str, Any] = sample.metrics if sample is not None else {}
    return NodeFacts(
        node.cluster,
        node.name,
        is_unreachable=node.state is NodeState.UNREACHABLE,
        is_joining=node.state is NodeState.JOINING,
        since=node.since,
        note=node.note,
        is_measured=sample is not None and node.is_reachable,
        cpu_percent=metrics.get("cpu_percent"),
        memory_percent=_percent(metrics.get("memory_used_bytes"), metrics.get("memory_total_bytes")),
        disk_percent=_percent(metrics.get("disk_used_bytes"), metrics.get("disk_total_bytes")),
        gpus=tuple(gpu_facts(node, metrics, lists_gpus=lists_gpus)),
    )


def _percent(used: Any, total: Any) -> float | None:
    return 100.0 * used / total if isinstance(used, int | float) and total else None


async def _job(context: Context, entry: Entry, fresh: Mapping[tuple[str, str], NodeUsage], now: float) -> JobFacts:
    job = entry.job
    waiting_since = job.state.since if isinstance(job.state, Queued) else None
    running = [task for task in entry.current_tasks() if not task.has_ended]
    tasks: tuple[TaskFacts, ...] = ()
    samples = {task.id: fresh.get((job.cluster, task.placement.node)) for task in running}
    is_measured = bool(running) and all(sample is not None for sample in samples.values())
    is_watched = len(running) > 1 or any(task.placement.devices for task in running)
    if isinstance(job.state, Running) and is_watched and is_measured:
        tasks = tuple(await _tasks(context, job.cluster, running, samples, now))
    return JobFacts(
        job.id,
        job.name,
        job.owner,
        job.cluster,
        job.attempt,
        waiting_since,
        tasks,
        is_measured=is_measured,
        is_interactive=_is_interactive(job),
    )


def _is_interactive(job: Job) -> bool:
    """A shell waits for its user, and the page of a notebook for its visitors."""
    roles = job.spec.roles
    is_alone = len(roles) == 1 and roles[0].replicas == 1
    return any(role.stdin for role in roles) or (is_alone and roles[0].ports > 0)


def _busy(task: Task, sample: NodeUsage | None) -> float | None:
    if sample is None:
        return None
    if not task.placement.devices:
        used = sample.tasks.get(task.id)
        return None if used is None else used.cpu_percent
    loads = {int(gpu["index"]): gpu.get("load") for gpu in sample.metrics.get("gpus") or ()}
    known = [loads.get(index) for index in task.placement.devices]
    return max((float(load) for load in known if load is not None), default=None)


async def _tasks(
    context: Context, cluster: str, running: Sequence[Task], samples: Mapping[str, NodeUsage | None], now: float
) -> list[TaskFacts]:
    """A log is asked for only where it matters: at a task that does little. While none of them works, one that has
    written says enough of all."""
    busy = {task.id: _busy(task, samples[task.id]) for task in running}
    somebody_works = any(one is not None and one >= WORKING_PERCENT for one in busy.values())
    found, is_known = [], False
    for task in running:
        own, silent = busy[task.id], None
        if own is not None and own < WORKING_PERCENT and not is_known:
            silent = await _silent_s(context, cluster, task, now)
            is_known = not somebody_works and (silent is None or silent < SILENT_S)
        found.append(TaskFacts(task.name, own, silent, len(task.placement.devices)))
    return found


async def _silent_s(context: Context, cluster: str, task: Task, now: float) -> float | None:
    source = context.backends[cluster].capabilities.log_times
    if source is None or task.started_at is None:
        return None
    try:
        async with asyncio.timeout(_ASK_S):
            times = await source.times(TaskRef.of(task))
    except (MusterError, TimeoutError):
        return None
    last = times.at_ms[-1] / 1000 if times.at_ms else task.started_at
    return max(0.0, now - max(last, task.started_at))
