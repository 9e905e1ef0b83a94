"""Builds what the API answers from domain values: entities of `muster.api`, which are plain dictionaries, because lists
of a thousand jobs are made of them."""

from collections.abc import Mapping
from typing import Any, cast

from muster.api.accounts import IdentityOut, TokenOut, UserOut
from muster.api.artifacts import PackageOut
from muster.api.events import EventOut
from muster.api.explanations import FaultOut, ReasonOut
from muster.api.jobs import ExtendedDeviceOut, JobMode, JobOut, JobStateName, TaskOut, TaskStateName
from muster.api.nodes import NodeOut, OthersOut
from muster.api.secrets import SecretOut
from muster.domain.accounts import Identity, Package, Token, User
from muster.domain.events import Event
from muster.domain.failures.faults import Fault
from muster.domain.job_reasons import stored_reason
from muster.domain.jobs import Job
from muster.domain.nodes import Node, OthersUse
from muster.domain.reasons import Reason
from muster.domain.resources import WHOLE_GPU, ExtendedDevice, times, total
from muster.domain.secrets import Secret
from muster.domain.tasks import Task, TaskFailed, TaskLost, TaskWaiting
from muster.domain.used_resources import NOTHING_USED, UsageSum
from muster.lib.clock import iso, optional_iso
from muster.lib.quantities import format_bytes, format_cpu, format_duration, gpu_number

OWN_ORIGIN = "muster"
"""The origin of jobs that were submitted to Muster."""


UNTOLD = Reason("", "")
"""It stands in place of the reason of a job, for people who may not read the job: a fault may quote its log."""


def job_view(job: Job, *, reason: Reason | None = None, used: UsageSum | None = None) -> JobOut:
    """`reason` and `used`, what its tasks have used so far, are there if they are not what the job itself says."""
    why = reason or stored_reason(job)
    known = used or job.used or NOTHING_USED
    spec = job.spec
    sizes = dict(job.sizes)
    roles = [(role.resources, sizes.get(role.name, role.replicas)) for role in spec.roles]
    view: JobOut = {
        "id": job.id,
        "origin": OWN_ORIGIN,
        "name": spec.name,
        "owner": job.owner,
        "state": cast("JobStateName", job.state_name),
        "mode": cast("JobMode", str(spec.mode)),
        "cluster": job.cluster,
        "vc": job.vc,
        "framework": str(spec.framework),
        "frameworkReason": spec.framework_reason,
        "priority": str(spec.priority),
        "attempt": job.attempt,
        "retries": job.retries,
        "preemptions": job.preemptions,
        "succeeded": job.tally.succeeded,
        "failed": job.tally.failed,
        "active": job.tally.active,
        "tasks": sum(count for _, count in roles),
        "createdAt": iso(job.created_at),
        "startedAt": optional_iso(job.started_at),
        "endedAt": optional_iso(job.ended_at),
        "checkpointAt": optional_iso(job.checkpoint_at),
        "ranS": round(job.ran_s, 3),
        "runTimeS": round(job.run_time_s, 3),
        "runningSince": optional_iso(job.running_since),
        "timeLimit": None if spec.time_limit_s is None else format_duration(spec.time_limit_s),
        "reason": why.message,
        "reasonCode": why.code or None,
        "reasonNumbers": dict(why.numbers) if why.code else None,
        "labels": dict(spec.labels),
        "resources": {
            "cpu": format_cpu(sum(each.cpu_m * count for each, count in roles)),
            "memory": format_bytes(sum(each.memory_bytes * count for each, count in roles)),
            "gpu": gpu_number(sum(each.gpu_m * count for each, count in roles)),
            "gpuType": list(dict.fromkeys(model for each, _ in roles if each.gpus for model in each.gpu_models)),
            "devices": dict(total(times(each.extended, count) for each, count in roles if each.extended)),
        },
        "version": job.version,
        "gpuPercent": None if known.gpu_percent is None else round(known.gpu_percent, 1),
        "peakMemoryBytes": known.peak_memory_bytes,
    }
    if job.sweep:
        view["sweep"], view["member"] = job.sweep, job.member
    return view


def task_view(task: Task) -> TaskOut:
    state = task.state
    view: TaskOut = {
        "id": task.id,
        "name": task.name,
        "role": task.role,
        "index": task.index,
        "rank": task.rank,
        "attempt": task.attempt,
        "state": cast("TaskStateName", task.state_name),
        "node": task.placement.node,
        "devices": list(task.placement.devices),
        "extendedDevices": [extended_view(device) for device in task.placement.extended],
        "ports": list(task.placement.ports),
        "startedAt": optional_iso(task.started_at),
        "endedAt": optional_iso(task.ended_at),
        "exitCode": task.exit_code,
        "signal": task.signal,
        "reason": state.fault.cause if isinstance(state, TaskFailed | TaskLost) else "",
    }
    if isinstance(state, TaskWaiting):
        view["waitReason"] = state.reason
        view["estimatedStart"] = optional_iso(state.starts_at)
    return view


def outlined_task_view(task: Task) -> TaskOut:
    """The view for people who may not read the job: a fault may quote its log."""
    return {**task_view(task), "reason": ""}


def extended_view(device: ExtendedDevice) -> ExtendedDeviceOut:
    return {"resource": device.resource, "index": device.index, "paths": list(device.paths)}


def event_view(event: Event) -> EventOut:
    return {
        "seq": event.seq,
        "at": iso(event.at),
        "kind": event.kind,
        "jobId": event.job_id,
        "actor": event.actor,
        "data": dict(event.data),
    }


def fault_view(fault: Fault) -> FaultOut:
    return {
        "kind": str(fault.kind),
        "code": fault.code,
        "cause": fault.cause,
        "advice": fault.advice,
        "task": fault.task,
        "exitCode": fault.exit_code,
        "signal": fault.signal,
        "retryable": fault.retryable,
        "words": dict(fault.words),
    }


def reason_view(reason: Reason) -> ReasonOut:
    return {
        "code": reason.code,
        "message": reason.message,
        "change": reason.change,
        "numbers": dict(reason.numbers),
    }


def node_view(
    node: Node,
    *,
    cpu_m: int,
    memory_bytes: int,
    device_jobs: Mapping[int, str | None],
    device_owners: Mapping[int, str | None],
    device_shares: Mapping[int, int],
    extended_jobs: Mapping[tuple[str, int], str],
    tasks: int,
    login: str | None,
    usage: dict[str, Any] | None,
) -> NodeOut:
    """`device_shares` says how much of each shared device is allocated, in thousandths. `extended_jobs` are those that
    have devices other than GPUs, by resource and index."""
    taken = {**dict.fromkeys(device_jobs, WHOLE_GPU), **device_shares}
    return {
        "name": node.name,
        "cluster": node.cluster,
        "state": str(node.state),
        "since": optional_iso(node.since),
        "address": node.address,
        "login": login,
        "cpu": {"total": format_cpu(node.capacity.cpu_m), "used": format_cpu(cpu_m)},
        "memory": {"total": node.capacity.memory_bytes, "used": memory_bytes},
        "gpus": [
            {
                "index": device.index,
                "model": device.model,
                "used": gpu_number(taken.get(device.index, 0)),
                "job": device_jobs.get(device.index),
                "owner": device_owners.get(device.index),
                "outOfService": device.out_of_service or None,
            }
            for device in node.capacity.devices
        ],
        "devices": [
            {
                "resource": device.resource,
                "index": device.index,
                "paths": list(device.paths),
                "job": extended_jobs.get((device.resource, device.index)),
                "outOfService": device.out_of_service or None,
            }
            for device in node.capacity.extended
        ],
        "others": None if node.use is None else _others_view(node.use.others),
        "partitions": list(node.partitions),
        "tasks": tasks,
        "note": node.note,
        "alerts": list(node.alerts),
        "labels": dict(node.labels),
        "usage": usage,
    }


def _others_view(others: OthersUse) -> OthersOut:
    return {"cpu": format_cpu(others.cpu_m), "memory": others.memory_bytes, "gpus": others.gpus}


def user_view(user: User) -> UserOut:
    return {
        "id": user.id,
        "name": user.name,
        "role": str(user.role),
        "disabled": user.disabled,
        "hasPassword": user.password_hash is not None,
        "groups": list(user.groups),
        "createdAt": iso(user.created_at),
    }


def secret_view(secret: Secret) -> SecretOut:
    return {
        "name": secret.name,
        "owner": secret.owner,
        "kind": str(secret.kind),
        "sizeBytes": secret.size_bytes,
        "createdAt": iso(secret.created_at),
        "updatedAt": iso(secret.updated_at),
    }


def identity_view(identity: Identity) -> IdentityOut:
    return {"issuer": identity.issuer, "subject": identity.subject, "linkedAt": iso(identity.linked_at)}


def token_view(token: Token, current: str | None = None) -> TokenOut:
    """`current` is the id of the token with which the call was made."""
    return {
        "id": token.id,
        "name": token.name,
        "user": token.user,
        "createdAt": iso(token.created_at),
        "expiresAt": optional_iso(token.expires_at),
        "lastUsedAt": optional_iso(token.last_used_at),
        "scope": str(token.scope),
        "job": token.job_id,
        "isSession": token.is_session,
        "isCurrent": token.id == current,
    }


def package_view(package: Package) -> PackageOut:
    return {"digest": package.digest, "size": package.size_bytes, "received": package.size_bytes, "complete": True}
