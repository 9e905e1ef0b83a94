"""Builders of what the contract suite stores."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from muster.domain.events import Event
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import Job, JobState, Queued
from muster.domain.resources import Placement, Resources
from muster.domain.specs import (
    Completion,
    Dependency,
    Framework,
    JobSpec,
    Mount,
    Needed,
    Priority,
    Role,
    Runtime,
    Spread,
    Together,
    Where,
)
from muster.domain.tasks import Task, TaskLaunching, TaskState, task_id
from muster.ports.store import Change
from muster.stores.opening import open_store

FAULT = Fault(
    kind=FaultKind.USER,
    code="exit-code",
    cause="worker-1 left with code 3",
    advice="read its log",
    retryable=True,
    task="worker-1",
    exit_code=3,
    signal=9,
)

FULL_SPEC = JobSpec(
    name="wide-and-deep",
    roles=(
        Role("ps", 2, ("python", "train.py", "--role=ps"), Resources(cpu_m=500, memory_bytes=2**31), ports=1),
        Role(
            name="worker",
            replicas=2,
            command=("python", "训练.py"),
            resources=Resources(cpu_m=1000, memory_bytes=2**40, gpus=2, gpu_models=("A100", "H100")),
            env={"ROLE": "worker"},
            ports=2,
            completion=Completion(min_failed=None, min_succeeded=2),
            min_replicas=1,
            max_replicas=8,
        ),
    ),
    cluster="lab",
    framework=Framework.PADDLE,
    priority=Priority.HIGH,
    time_limit_s=7200.5,
    grace_s=3.25,
    retry_max=3,
    env={"EPOCHS": "3", "QUOTE": "\"'\n\t"},
    params={"lr": 0.1, "whole": 1.0, "layers": 3, "amp": True, "opt": "adam", "limit": float("inf")},
    labels={"team": "ads", "stage": "dev"},
    description="a “deep” model\nof two lines",
    package="sha256:abc",
    runtime=Runtime(conda="py310"),
    mounts=(Mount("data/criteo", "/data", read_only=True),),
    gloo=1,
    held=True,
    after=(Dependency("prep"), Dependency("clean", Needed.ENDED)),
    where=Where(("n1",), ("n2",), {"room": "b"}, Spread.APART, Together.RACK),
    preemptible=False,
)


def a_job(
    number: int = 1,
    *,
    name: str | None = None,
    owner: str = "amy",
    cluster: str = "lab",
    state: JobState | None = None,
    created_at: float | None = None,
    labels: Mapping[str, str] | None = None,
    package: str | None = None,
    vc: str = "",
) -> Job:
    """The number makes id, name and time; later numbers are newer."""
    spec = JobSpec(
        name=name or f"job-{number}",
        roles=(Role("worker", 1, ("true",)),),
        labels=labels or {},
        package=package,
    )
    at = float(number) if created_at is None else created_at
    return Job(f"id-{number:06}", owner, cluster, spec, state or Queued(at), at, vc=vc)


def a_task(job: Job, index: int = 0, *, attempt: int = 1, state: TaskState | None = None) -> Task:
    return Task(
        id=task_id(job.id, attempt, "worker", index),
        job_id=job.id,
        attempt=attempt,
        name=f"worker-{index}",
        role="worker",
        index=index,
        rank=index,
        placement=Placement(""),
        state=state or TaskLaunching(5.0),
    )


def an_event(kind: str = "job.queued", job: Job | None = None) -> Event:
    return Event(kind, 5.0, job_id=job.id if job else None)


def submission(job: Job) -> Change:
    return Change(new_job=job, events=[an_event("job.queued", job)])


def next_version(job: Job, state: JobState, steps: int = 1) -> Job:
    return replace(job, state=state, version=job.version + steps)


def migrated(url: str) -> str:
    async def open_and_close() -> None:
        await (await open_store(url)).close()

    asyncio.run(open_and_close())
    return url
