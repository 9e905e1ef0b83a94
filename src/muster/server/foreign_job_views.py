"""Builds what the API answers about jobs that were made in the engine of a cluster itself."""

from typing import cast

from muster.api.explanations import ExplainOut, ReasonOut
from muster.api.jobs import JobMode, JobOut, JobStateName
from muster.engine.requests.foreign_jobs import Found
from muster.lib.clock import iso, optional_iso
from muster.lib.quantities import format_bytes, format_cpu, format_duration, gpu_number

_WAITING = ("Queued", "Held", "Starting")


def foreign_job_view(found: Found) -> JobOut:
    job, asked = found.job, found.job.resources
    return {
        "id": found.id,
        "origin": found.origin,
        "name": job.name,
        "owner": job.space,
        "state": cast("JobStateName", job.state),
        "mode": cast("JobMode", str(job.mode)),
        "cluster": found.cluster,
        "vc": "",
        "framework": job.framework,
        "frameworkReason": "",
        "priority": "",
        "attempt": job.restarts + 1,
        "retries": job.restarts,
        "preemptions": 0,
        "succeeded": sum(role.succeeded for role in job.roles),
        "failed": sum(role.failed for role in job.roles),
        "active": sum(role.active for role in job.roles),
        "tasks": sum(role.replicas for role in job.roles),
        "createdAt": iso(job.created_at),
        "startedAt": optional_iso(job.started_at),
        "endedAt": optional_iso(job.ended_at),
        "checkpointAt": None,
        "ranS": 0.0,
        "runTimeS": round(max(0.0, job.ended_at - job.started_at), 3) if job.started_at and job.ended_at else 0.0,
        "runningSince": optional_iso(None if job.ended_at else job.started_at),
        "timeLimit": None,
        "reason": job.reason,
        "reasonCode": None,
        "reasonNumbers": None,
        "labels": dict(job.labels),
        "resources": {
            "cpu": format_cpu(asked.cpu_m),
            "memory": format_bytes(asked.memory_bytes),
            "gpu": gpu_number(asked.gpu_m),
            "gpuType": [],
            "devices": dict(asked.extended),
        },
        "version": 0,
        "roles": [
            {
                "role": role.name,
                "replicas": role.replicas,
                "active": role.active,
                "succeeded": role.succeeded,
                "failed": role.failed,
            }
            for role in job.roles
        ],
    }


def foreign_explanation(found: Found, now: float) -> ExplainOut:
    """Muster neither started the job nor keeps it waiting, so that this is what the engine says."""
    job = found.job
    is_waiting = job.state in _WAITING
    message = job.reason or f"waiting in {found.origin}"
    reason = ReasonOut(code="engine", message=message, change=f"it is up to {found.origin}", numbers={})
    return {
        "job": job.name,
        "state": cast("JobStateName", job.state),
        "summary": f"{_story(found, now)} It was made with {job.made_with}, and Muster only shows it.",
        "reasons": [reason] if is_waiting else [],
        "fault": None,
        "evidence": [],
        "attempts": [],
        "next": job.read_with,
        "startsAt": None,
        "startsBy": None,
        "whatIf": None,
    }


def _story(found: Found, now: float) -> str:
    job = found.job
    counts = ", ".join(f"{role.active} of {role.replicas} {role.name}" for role in job.roles)
    why = f": {job.reason}" if job.reason else ""
    match job.state:
        case "Queued":
            return f"{job.name} waits{why}."
        case "Held":
            return f"{job.name} is suspended{why}."
        case "Starting":
            return f"{job.name} is starting ({counts}){why}."
        case "Running":
            since = "" if job.started_at is None else f" for {format_duration(round(max(0.0, now - job.started_at)))}"
            return f"{job.name} has been running{since} ({counts})."
        case "Failed":
            return f"{job.name} failed{why}."
        case "Succeeded":
            return f"{job.name} succeeded."
        case _:
            return f"{job.name} is {job.state}."
