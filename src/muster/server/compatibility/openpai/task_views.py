"""The tasks of a job as OpenPAI shows them, by role."""

from collections.abc import Mapping
from typing import Any

from muster.domain.failures.faults import Fault
from muster.domain.jobs import Job
from muster.domain.tasks import Task, TaskFailed, TaskLost
from muster.server.compatibility.openpai.attempts import Attempt
from muster.server.compatibility.openpai.exit_codes import exit_spec, task_exit_code
from muster.server.compatibility.openpai.job_views import diagnostics
from muster.server.compatibility.openpai.names import pai_name
from muster.server.compatibility.openpai.port_labels import Labels, labelled_ports, labels_of
from muster.server.compatibility.openpai.states import task_word
from muster.server.compatibility.openpai.times import milliseconds

LOGS = "/api/v2/jobs/{job}/attempts/{attempt}/taskRoles/{role}/taskIndex/{index}/attempts/0/logs"


def task_roles(job: Job, attempt: Attempt, *, may_read: bool) -> dict[str, Any]:
    labels = labels_of(job)
    return {
        role.name: {
            "taskRoleStatus": {"name": role.name},
            "taskStatuses": [
                {**_task(job, task), "attemptId": 0, **_container(job, task, labels, may_read=may_read)}
                for task in attempt.tasks
                if task.role == role.name
            ],
        }
        for role in job.spec.roles
    }


def task_with_attempts(job: Job, task: Task, *, may_read: bool) -> dict[str, Any]:
    """The detail of one task with all its tries, of which there is one."""
    return {
        **_task(job, task),
        "username": job.owner,
        "jobName": job.name,
        "jobAttemptId": task.attempt - 1,
        "taskRoleName": task.role,
        "attempts": [{"attemptId": 0, **_container(job, task, labels_of(job), may_read=may_read)}],
    }


def _task(job: Job, task: Task) -> dict[str, Any]:
    return {
        "taskIndex": task.index,
        "taskUid": task.id,
        "taskState": task_word(task.state).state,
        "retries": 0,
        "accountableRetries": 0,
        "createdTime": milliseconds(job.created_at),
        "launchedTime": milliseconds(task.started_at),
        "completedTime": milliseconds(task.ended_at),
    }


def _container(job: Job, task: Task, labels: Mapping[str, Labels], *, may_read: bool) -> dict[str, Any]:
    fault = task.state.fault if may_read and isinstance(task.state, TaskFailed | TaskLost) else None
    code = task_exit_code(task, job)
    places = {"job": pai_name(job), "attempt": task.attempt - 1, "role": task.role, "index": task.index}
    return {
        "attemptState": task_word(task.state).state,
        "currentAttemptCreatedTime": milliseconds(task.started_at),
        "currentAttemptLaunchedTime": milliseconds(task.started_at),
        "currentAttemptCompletedTime": milliseconds(task.ended_at),
        "containerId": task.id,
        "containerIp": task.placement.address,
        "containerNodeName": task.placement.node,
        "containerPorts": labelled_ports(job, task, labels),
        "containerGpus": _bit_mask(task),
        "containerLog": LOGS.format(**places),
        "containerExitCode": code,
        "containerExitSpec": exit_spec(code, fault),
        "containerExitDiagnostics": None if fault is None else _told(task, fault),
        "hived": {"affinityGroupName": None, "lazyPreempted": None, "lazyPreemptionStatus": None},
    }


def _bit_mask(task: Task) -> int | None:
    return sum(1 << device for device in task.placement.devices) if task.placement.devices else None


def _told(task: Task, fault: Fault) -> str:
    ending = f" The program's own exit code was {task.exit_code}." if task.exit_code else ""
    return f"{diagnostics(fault)}{ending}"
