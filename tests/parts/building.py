"""Builders of specs, jobs, tasks and nodes for tests of the pure core and the engine."""

from dataclasses import replace

from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.jobs import Job, JobState, Queued, Running
from muster.domain.nodes import Node, NodeState
from muster.domain.resources import Amounts, Capacity, Device, ExtendedDevice, Placement, Resources
from muster.domain.specs import Completion, JobSpec, Priority, Role
from muster.domain.tasks import Task, TaskRunning, TaskState, task_id

GIB = 1 << 30
USER_FAULT = Fault(FaultKind.USER, "exit", "The program ended with exit code 1.", retryable=True)
FATAL_FAULT = Fault(FaultKind.CONFIGURATION, "command-not-found", "The command was not found.")
PLATFORM_FAULT = Fault(FaultKind.PLATFORM, "node-lost", "The node stopped answering.", retryable=True)
CAPACITY_FAULT = Fault(FaultKind.CAPACITY, "disk-full", "The disk was full.", retryable=True)


def a_role(
    name: str = "worker",
    replicas: int = 1,
    *,
    cpu: float = 1,
    memory: int = 0,
    gpus: int = 0,
    models: tuple[str, ...] = (),
    completion: Completion | None = None,
    least: int | None = None,
    most: int | None = None,
    extended: Amounts = (),
) -> Role:
    return Role(
        name,
        replicas,
        ("true",),
        Resources(round(cpu * 1000), memory, gpus, models, extended=extended),
        completion=completion or Completion(),
        min_replicas=least,
        max_replicas=most,
    )


def a_spec(*roles: Role, name: str = "job", priority: Priority = Priority.NORMAL, **fields: object) -> JobSpec:
    return JobSpec(name, roles or (a_role(),), priority=priority, **fields)  # type: ignore[arg-type]


def a_ps_spec(ps: int = 2, workers: int = 2, **fields: object) -> JobSpec:
    worker = a_role("worker", workers, completion=Completion(1, workers))
    return a_spec(a_role("ps", ps), worker, **fields)  # type: ignore[arg-type]


def a_job(
    spec: JobSpec | None = None, state: JobState | None = None, *, job_id: str = "j1", created_at: float = 1.0
) -> Job:
    return Job(job_id, "amy", "lab", spec or a_spec(), state or Queued(created_at), created_at)


def tasks_of(job: Job, *states: TaskState) -> list[Task]:
    """The gang of the first attempt, in order of rank. Tasks without a given state are running."""
    tasks: list[Task] = []
    for role in job.spec.roles:
        for index in range(role.replicas):
            rank = len(tasks)
            state = states[rank] if rank < len(states) else TaskRunning(2.0)
            name = f"{job.name}-{role.name}-{index}"
            where = Placement("n1")
            tasks.append(
                Task(task_id(job.id, 1, role.name, index), job.id, 1, name, role.name, index, rank, where, state)
            )
    return tasks


def a_running_job(spec: JobSpec) -> Job:
    return a_job(spec, Running(2.0))


def a_node(
    name: str = "n1", cpu: float = 8, memory: int = 32 * GIB, *models: str, state: NodeState = NodeState.READY
) -> Node:
    """A node. `models` are the models of its GPUs, in order of index."""
    devices = tuple(Device(index, model) for index, model in enumerate(models))
    return Node(name, "lab", "127.0.0.1", Capacity(round(cpu * 1000), memory, devices), state)


def with_extended(node: Node, count: int, resource: str = "xilinx.com/fpga") -> Node:
    """The node with so many devices of the resource, each with one file of its own."""
    stem = resource.rpartition("/")[2]
    devices = tuple(ExtendedDevice(resource, index, (f"/dev/{node.name}-{stem}{index}",)) for index in range(count))
    return replace(node, capacity=replace(node.capacity, extended=(*node.capacity.extended, *devices)))
