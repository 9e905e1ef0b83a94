"""A job as OpenPAI shows it: a line of the list, and the status in its details."""

import math
from typing import Any

from muster.domain.failures.faults import Fault
from muster.domain.jobs import Job, Queued
from muster.domain.specs import Priority
from muster.lib.quantities import gpu_number
from muster.server.compatibility.openpai.attempts import Attempt
from muster.server.compatibility.openpai.exit_codes import exit_spec, job_exit_code
from muster.server.compatibility.openpai.exit_specs import EXIT_SPECS
from muster.server.compatibility.openpai.states import is_stopped, job_word
from muster.server.compatibility.openpai.tags import tags_of
from muster.server.compatibility.openpai.times import milliseconds

PRIORITY_WORDS = {
    Priority.URGENT: "crit",
    Priority.HIGH: "prod",
    Priority.NORMAL: "default",
    Priority.LOW: "oppo",
}
"""`default` is a job that names no priority, which is the same as `test`."""


def virtual_cluster_of(job: Job) -> str:
    """The cluster that the job would have to name to run there again."""
    return job.vc or job.cluster


def summary(job: Job, now: float) -> dict[str, Any]:
    return {
        "name": job.name,
        "debugId": job.id,
        "username": job.owner,
        "jobPriority": PRIORITY_WORDS[job.spec.priority],
        **_state(job, now),
        "submissionTime": milliseconds(job.created_at),
        "launchedTime": milliseconds(job.started_at),
        "appExitCode": job_exit_code(job.state),
        "tags": tags_of(job.spec.labels),
        **totals(job),
    }


def totals(job: Job) -> dict[str, Any]:
    """What all tasks of the job have together."""
    sizes = dict(job.sizes)
    counts = [(role, sizes.get(role.name, role.replicas)) for role in job.spec.roles]
    return {
        "totalGpuNumber": gpu_number(sum(role.resources.gpu_m * count for role, count in counts)),
        "totalTaskNumber": sum(count for _, count in counts),
        "totalTaskRoleNumber": len(counts),
    }


def status(job: Job, attempt: Attempt, now: float, *, may_read: bool) -> dict[str, Any]:
    """The `jobStatus` of the details. People who may not read the job get no cause, because a cause may quote a log."""
    fault = attempt.fault if may_read else None
    trigger = attempt.trigger
    return {
        "username": job.owner,
        **_state(job, now),
        "submissionTime": milliseconds(job.created_at),
        "launchedTime": milliseconds(job.started_at),
        "attemptId": attempt.number - 1 if attempt.number else None,
        "attemptState": attempt.state,
        "appId": f"{job.id}.{attempt.number}",
        "appProgress": 1 if attempt.has_ended else 0,
        "appTrackingUrl": "",
        "appCreatedTime": milliseconds(job.created_at),
        "appLaunchedTime": milliseconds(attempt.launched_at),
        "appCompletedTime": milliseconds(attempt.ended_at),
        "appExitCode": attempt.exit_code,
        "appExitSpec": exit_spec(attempt.exit_code, fault),
        "appExitTriggerMessage": None if fault is None else fault.cause,
        "appExitTriggerTaskRoleName": None if trigger is None else trigger.role,
        "appExitTriggerTaskIndex": None if trigger is None else trigger.index,
        "appExitDiagnostics": None if fault is None else diagnostics(fault),
        "appExitMessages": _messages(attempt, fault),
        "appExitType": None if attempt.exit_code is None else EXIT_SPECS[attempt.exit_code].type,
    }


def diagnostics(fault: Fault) -> str:
    return f"{fault.cause} {fault.advice}".strip()


def _state(job: Job, now: float) -> dict[str, Any]:
    word = job_word(job.state)
    wait_s = None
    if isinstance(job.state, Queued) and job.state.not_before is not None:
        wait_s = max(0, math.ceil(job.state.not_before - now))
    return {
        "state": word.state,
        "subState": word.sub_state,
        "executionType": "STOP" if is_stopped(job.state) else "START",
        "retries": job.retries + job.platform_retries + job.preemptions,
        "retryDetails": {"user": job.retries, "platform": job.platform_retries, "resource": job.preemptions},
        "retryDelayTime": wait_s,
        "createdTime": milliseconds(job.created_at),
        "completedTime": milliseconds(job.ended_at),
        "virtualCluster": virtual_cluster_of(job),
    }


def _messages(attempt: Attempt, fault: Fault | None) -> dict[str, Any] | None:
    if fault is None:
        return None
    task = attempt.trigger
    runtime = None
    if task is not None:
        runtime = {"name": task.name, "exitCode": attempt.exit_code, "originUserExitCode": task.exit_code}
    return {"container": None, "runtime": runtime, "launcher": fault.cause}
