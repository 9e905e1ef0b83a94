"""Builders: a spec and the tasks of its gang, placed with as many ports as they need."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from muster.domain.gangs import make_gang
from muster.domain.launch_requests import LaunchRequest
from muster.domain.resources import WHOLE_GPU, Placement, Resources
from muster.domain.specs import Framework, JobSpec, Role
from muster.domain.tasks import Task, TaskLaunching, task_id
from muster.launch.composing import compose, ports_needed

NODES = (("n1", "10.0.0.1"), ("n2", "10.0.0.2"))


def role(name: str = "worker", replicas: int = 1, *, gpus: int = 0, gpu_share: int = WHOLE_GPU, **more: Any) -> Role:
    resources = Resources(cpu_m=1000, memory_bytes=2**31, gpus=gpus, gpu_share=gpu_share)
    return Role(name, replicas, ("python", "train.py"), resources, **more)


def spec(*roles: Role, framework: Framework = Framework.PLAIN, **more: Any) -> JobSpec:
    return JobSpec("demo", roles or (role(),), framework=framework, **more)


def placed(job: JobSpec, nodes: Sequence[tuple[str, str]] = NODES) -> list[Task]:
    """Tasks dealt out over the nodes in turn; ports and devices of a node are given once."""
    tasks: list[Task] = []
    next_port = dict.fromkeys((name for name, _ in nodes), 40000)
    next_device = dict.fromkeys((name for name, _ in nodes), 0)
    for each in job.roles:
        for index in range(each.replicas):
            rank = len(tasks)
            name, address = nodes[rank % len(nodes)]
            count, gpus = ports_needed(job, each, index), each.resources.gpus
            ports = tuple(range(next_port[name], next_port[name] + count))
            devices = tuple(range(next_device[name], next_device[name] + gpus))
            next_port[name] += count
            next_device[name] += gpus
            placement = Placement(name, address, devices, ports)
            tasks.append(
                Task(
                    id=task_id("j1", 1, each.name, index),
                    job_id="j1",
                    attempt=1,
                    name=f"{job.name}-{each.name}-{index}",
                    role=each.name,
                    index=index,
                    rank=rank,
                    placement=placement,
                    state=TaskLaunching(0.0),
                )
            )
    return tasks


def composed(job: JobSpec, tasks: Sequence[Task] | None = None, **more: Any) -> list[LaunchRequest]:
    """The requests in the order of `tasks`."""
    tasks = placed(job) if tasks is None else tasks
    requests = compose(make_gang("j1", "ada", "local", 1, job, tasks), **more).requests
    found = {request.task_id: request for request in requests}
    return [found[task.id] for task in tasks]


def environments(job: JobSpec, **more: Any) -> list[Mapping[str, str]]:
    return [task.env for task in composed(job, **more)]


def on_engine(task: Task) -> Task:
    """As Slurm or Kubernetes place it: which devices is the engine's affair."""
    return replace(task, placement=replace(task.placement, devices=()))
