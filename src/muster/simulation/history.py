"""Turns the jobs that have run on a server, and its nodes, into a trace."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from muster.lib.quantities import parse_bytes, parse_cpu, parse_duration
from muster.simulation.options import NodeGroup
from muster.simulation.records import TraceJob

_MIB = 1 << 20
Raw = Mapping[str, Any]


def jobs_of(items: Iterable[Raw], now: float) -> list[TraceJob]:
    """The jobs that have run, as the API shows them. Times count from the first submission, and jobs that still run
    end now."""
    ran = [item for item in items if item.get("createdAt") and item.get("startedAt") and _has_run(item, now)]
    begin_s = min((_seconds(item["createdAt"]) for item in ran), default=0.0)
    jobs = [_job(item, begin_s, now) for item in ran]
    return sorted(jobs, key=lambda job: (job.submit_s, job.job_id))


def nodes_of(items: Iterable[Raw]) -> list[NodeGroup]:
    """Nodes that are alike make one group. A node's GPUs are taken to be of one model."""
    kinds = Counter(_node(item) for item in items)
    return [NodeGroup(count, *kind) for kind, count in kinds.items()]


def _job(item: Raw, begin_s: float, now: float) -> TraceJob:
    resources = item.get("resources") or {}
    limit = item.get("timeLimit")
    return TraceJob(
        job_id=str(item["id"]),
        submit_s=_seconds(item["createdAt"]) - begin_s,
        duration_s=_ran_s(item, now),
        gpus=float(resources.get("gpu") or 0),
        user=item.get("owner") or "",
        vc=item.get("vc") or "",
        gpu_type=_first(resources.get("gpuType")),
        cpus=parse_cpu(resources.get("cpu") or 0) / 1000,
        mem_mib=parse_bytes(resources.get("memory") or 0) / _MIB,
        limit_s=parse_duration(limit) if limit else None,
    )


def _node(item: Raw) -> tuple[int, str, str, float, float]:
    gpus = item.get("gpus") or []
    model = str(gpus[0].get("model") or "") if gpus else ""
    cpus = parse_cpu(item["cpu"]["total"]) / 1000
    return len(gpus), model, str(item.get("cluster") or ""), cpus, item["memory"]["total"] / _MIB


def is_running(item: Raw) -> bool:
    """Whether the job has begun and not ended."""
    return bool(item.get("startedAt")) and not item.get("endedAt")


def _has_run(item: Raw, now: float) -> bool:
    return bool(item.get("endedAt")) or _ran_s(item, now) > 0.0


def _ran_s(item: Raw, now: float) -> float:
    """The run time is missing for jobs that ended before servers counted it."""
    ran_s = float(item.get("ranS") or 0.0)
    if is_running(item):
        since = item.get("runningSince")
        return ran_s + (max(now - _seconds(since), 0.0) if since else 0.0)
    return ran_s or max(_seconds(item["endedAt"]) - _seconds(item["startedAt"]), 0.0)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _first(models: Any) -> str:
    if isinstance(models, list):
        return str(models[0]) if models else ""
    return str(models or "")
