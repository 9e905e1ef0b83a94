"""The figures of jobs and queues at this moment, for those who draw them: Prometheus and InfluxDB."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from muster.domain.jobs import HOLDING, Job, Queued
from muster.engine.context import Context
from muster.engine.state.open_jobs import Entry
from muster.ports.capabilities import NodeUsage
from muster.ports.exporting import JobFigures, QueueFigures, UserFigures, WorkFigures

STALE_S = 60.0
"""A sample that is older than this says nothing."""


def work_figures(context: Context) -> WorkFigures:
    entries, now = context.open_jobs.entries(), context.clock()
    samples = _fresh_samples(context, now)
    return WorkFigures(
        jobs=tuple(_job(entry, samples, now) for entry in entries if isinstance(entry.job.state, HOLDING)),
        users=tuple(_users(entries, now)),
        queues=tuple(_queues(entries, now)),
    )


def allocated_gpus(entries: Sequence[Entry]) -> int:
    """How many GPUs these jobs have. One that several tasks share counts once."""
    held = {
        (entry.job.cluster, task.placement.node if task.placement.devices else "", index)
        for entry in entries
        for task in entry.tasks.values()
        if not task.has_ended
        for index in task.placement.devices or task.placement.pool_devices
    }
    return len(held)


def _job(entry: Entry, samples: Mapping[tuple[str, str], NodeUsage], now: float) -> JobFigures:
    job = entry.job
    tasks = [task for task in entry.tasks.values() if not task.has_ended]
    places = [(task, samples.get((job.cluster, task.placement.node))) for task in tasks]
    used = [sample.tasks[task.id] for task, sample in places if sample is not None and task.id in sample.tasks]
    cpu = [one.cpu_percent for one in used if one.cpu_percent is not None]
    loads = [
        float(gpu["load"])
        for task, sample in places
        if sample is not None
        for gpu in sample.metrics.get("gpus") or ()
        if gpu["index"] in task.placement.devices and gpu.get("load") is not None
    ]
    return JobFigures(
        job.cluster,
        job.owner,
        job.id,
        job.name,
        tasks=len(tasks),
        gpus=allocated_gpus([entry]),
        run_s=None if job.started_at is None else max(0.0, now - job.started_at),
        gpu_load_percent=sum(loads) / len(loads) if loads else None,
        cpu_percent=sum(cpu) if cpu else None,
        memory_bytes=sum(one.rss_bytes for one in used) if used else None,
    )


def _users(entries: Sequence[Entry], now: float) -> list[UserFigures]:
    by_user: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        by_user[entry.job.cluster, entry.job.owner].append(entry)
    return [
        UserFigures(
            *user,
            jobs=tuple(Counter(entry.job.state_name for entry in own).items()),
            gpus=allocated_gpus(own),
            longest_wait_s=max(_waited_s(entry.job, now) for entry in own),
        )
        for user, own in by_user.items()
    ]


def _queues(entries: Sequence[Entry], now: float) -> list[QueueFigures]:
    by_queue: dict[tuple[str, str], list[Job]] = defaultdict(list)
    for entry in entries:
        by_queue[entry.job.cluster, entry.job.vc].append(entry.job)
    return [
        QueueFigures(
            *queue,
            jobs=tuple(Counter(job.state_name for job in jobs).items()),
            longest_wait_s=max(_waited_s(job, now) for job in jobs),
        )
        for queue, jobs in by_queue.items()
    ]


def _waited_s(job: Job, now: float) -> float:
    return max(0.0, now - job.state.since) if isinstance(job.state, Queued) else 0.0


def _fresh_samples(context: Context, now: float) -> dict[tuple[str, str], NodeUsage]:
    return {
        (cluster, node): sample
        for cluster, backend in context.backends.items()
        for node, sample in backend.capabilities.latest_usage().items()
        if now - sample.received_at < STALE_S
    }
