"""Muster's faults as OpenPAI's exit codes, by one table."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from muster.domain.failures.faults import Fault
from muster.domain.jobs import Cancelled, Failed, Job, JobState, Succeeded
from muster.domain.tasks import Task, TaskFailed, TaskLost, TaskStopped, TaskSucceeded
from muster.server.compatibility.openpai.exit_specs import (
    ENDED_WITH_JOB,
    EXIT_SPECS,
    STOPPED,
    SUCCEEDED,
    UNRECOGNIZED,
)

FAULT_CODES: Mapping[str, int] = {
    "node-lost": -1001,
    "no-exit-code": -101,
    "port-in-use": 253,
    **dict.fromkeys(("disk-full", "no-ports", "too-many-tasks", "engine-preempted", "engine-requeued"), -1002),
    "prolog": -1006,
    **dict.fromkeys(("registry", "launch-failed", "login-unreachable", "engine-start"), -120),
    **dict.fromkeys(("package", "bad-request", "too-large", "secret"), -200),
    "rejected": -1005,
    **dict.fromkeys(("image", "image-denied"), 254),
    "container-engine": -1201,
    **dict.fromkeys(("time-limit", "engine-time-limit"), -1004),
    **dict.fromkeys(("memory", "host-memory"), -1200),
    **dict.fromkeys(("dependency-failed", "dependency-gone"), -1100),
    "stopped": STOPPED,
    "gpu-memory": 226,
    "gpu-hardware": 223,
    **dict.fromkeys(("cuda-driver", "cuda-build", "cuda-architecture"), 224),
    "cudnn": 225,
    "cuda-assert": 233,
    **dict.fromkeys(("no-gpu", "gpu-number", "missing-rank", "missing-local-rank", "paddle-launch"), 228),
    **dict.fromkeys(("mpi-slots", "mpi-root", "mpi-hosts", "nccl-interface", "bad-arguments"), 228),
    **dict.fromkeys(("paddle-precondition", "paddle-argument"), 228),
    "read-only": 230,
    "syntax": 231,
    **dict.fromkeys(("missing-module", "import-name", "missing-library"), 232),
    **dict.fromkeys(("setup-failed", "shared-memory", "disk-quota", "open-files", "crlf", "missing-interpreter"), 220),
    **dict.fromkeys(("not-executable", "exec-format", "no-shebang", "command-not-found", "missing-file"), 220),
    **dict.fromkeys(("missing-environment", "environment-activation", "old-system", "permission"), 220),
    **dict.fromkeys(("missing-package", "workdir", "ssh-unusable"), 220),
    **dict.fromkeys(("not-a-number", "python-bug", "command-timeout", "cpu-time", "file-size"), 220),
    "interrupted": 130,
    "illegal-instruction": 132,
    "aborted": 134,
    "bus-error": 135,
    "arithmetic": 136,
    "killed": 137,
    **dict.fromkeys(("segfault", "cuda-access"), 139),
    "broken-pipe": 141,
    "terminated": 143,
    **dict.fromkeys(("setup-network", "nccl-timeout", "nccl", "nccl-peer", "gloo", "rendezvous"), UNRECOGNIZED),
    **dict.fromkeys(("peer-refused", "peer-lost", "name-resolution", "no-route"), UNRECOGNIZED),
    **dict.fromkeys(("paddle-external", "python-exception", "hangup", "signal", "exit"), UNRECOGNIZED),
    "unknown": 256,
}
"""What a plugin calls a fault is not in the table, and is an end that OpenPAI does not recognize."""


def fault_code(fault: Fault) -> int:
    return FAULT_CODES.get(fault.code, UNRECOGNIZED)


def job_exit_code(state: JobState) -> int | None:
    """Returns None for a job that has not ended."""
    match state:
        case Succeeded():
            return SUCCEEDED
        case Failed(fault=fault):
            return fault_code(fault)
        case Cancelled():
            return STOPPED
        case _:
            return None


def task_exit_code(task: Task, job: Job) -> int | None:
    match task.state:
        case TaskSucceeded():
            return SUCCEEDED
        case TaskFailed(fault=fault) | TaskLost(fault=fault):
            return fault_code(fault)
        case TaskStopped():
            return STOPPED if isinstance(job.state, Cancelled) else ENDED_WITH_JOB
        case _:
            return None


def exit_spec(code: int | None, fault: Fault | None) -> dict[str, Any] | None:
    """What OpenPAI's clients show about an end. Reason and solution are Muster's own, from the fault."""
    if code is None:
        return None
    reason, solution = (fault.cause, [fault.advice] if fault.advice else []) if fault else ("", [])
    return {**asdict(EXIT_SPECS[code]), "reason": reason, "repro": [], "solution": solution}
