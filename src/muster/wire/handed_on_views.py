"""What a server is answered of the jobs that it has handed on."""

from collections.abc import Sequence
from typing import cast

from muster.api.handed_on import HandedOnFault, HandedOnGpuUse, HandedOnJob, HandedOnTask, HandedOnUse
from muster.api.jobs import JobStateName, TaskStateName
from muster.domain.failures.faults import Fault
from muster.domain.jobs import Cancelled, Failed, Job
from muster.domain.tasks import Task, TaskFailed, TaskLost, TaskWaiting
from muster.domain.used_resources import UsedGpu, UsedResources
from muster.lib.clock import optional_iso
from muster.lib.quantities import format_cpu


def handed_on_job_view(job: Job, tasks: Sequence[Task], reason: str, metric_points: int) -> HandedOnJob:
    origin = job.spec.handed_on
    assert origin is not None
    held = [job.spec.role(task.role).resources for task in tasks if not task.has_ended]
    return {
        "id": job.id,
        "job": origin.job_id,
        "attempt": origin.attempt,
        "state": cast("JobStateName", job.state_name),
        "reason": reason,
        "attempts": job.attempt,
        "cancelledBy": job.state.by if isinstance(job.state, Cancelled) else None,
        "fault": _fault(job.state.fault) if isinstance(job.state, Failed) else None,
        "checkpointAt": optional_iso(job.checkpoint_at),
        "trackingUrl": job.tracking_url,
        "cpu": format_cpu(sum(one.cpu_m for one in held)),
        "memoryBytes": sum(one.memory_bytes for one in held),
        "metricPoints": metric_points,
        "roles": {role.name: role.replicas for role in job.spec.roles},
        "tasks": [_task(task) for task in tasks],
    }


def _task(task: Task) -> HandedOnTask:
    state = task.state
    waits = state if isinstance(state, TaskWaiting) else None
    return {
        "role": task.role,
        "index": task.index,
        "state": cast("TaskStateName", task.state_name),
        "node": task.placement.node,
        "gpus": list(task.placement.devices),
        "startedAt": optional_iso(task.started_at),
        "endedAt": optional_iso(task.ended_at),
        "exitCode": task.exit_code,
        "signal": task.signal,
        "fault": _fault(state.fault) if isinstance(state, TaskFailed | TaskLost) else None,
        "waitReason": waits.reason if waits else "",
        "startsAt": optional_iso(waits.starts_at) if waits else None,
        "needsAction": waits.needs_action if waits else False,
        "used": None if task.used is None else _used(task.used),
    }


def _used(used: UsedResources) -> HandedOnUse:
    return {
        "cpuS": used.cpu_s,
        "peakCores": used.peak_cores,
        "peakMemoryBytes": used.peak_memory_bytes,
        "sampled": used.is_sampled,
        "gpus": [_gpu(gpu) for gpu in used.gpus],
    }


def _gpu(gpu: UsedGpu) -> HandedOnGpuUse:
    return {
        "index": gpu.index,
        "sampledS": gpu.sampled_s,
        "meanPercent": gpu.mean_percent,
        "peakPercent": gpu.peak_percent,
        "meanMemoryBytes": gpu.mean_memory_bytes,
        "peakMemoryBytes": gpu.peak_memory_bytes,
        "energyJ": gpu.energy_j,
    }


def _fault(fault: Fault) -> HandedOnFault:
    return {"kind": fault.kind.value, "code": fault.code, "cause": fault.cause}
