"""Pods, nodes and gangs for the tests of the Kubernetes backend."""

from collections.abc import Callable, Mapping
from typing import Any

from muster.backends.kubernetes.capacity import gpu_choice, read_node
from muster.backends.kubernetes.gang_objects import GangObjects
from muster.backends.kubernetes.names import address, own_labels
from muster.backends.kubernetes.options import KubernetesOptions
from muster.domain.clusters import PhysicalCluster
from muster.domain.gangs import make_gang
from muster.domain.launch_requests import GangLaunch
from muster.domain.resources import Placement
from muster.domain.specs import JobSpec
from muster.domain.tasks import Task, TaskLaunching, task_id
from muster.launch.composing import compose, ports_needed
from muster.launch.folder_paths import with_absolute_paths

TASK = "j1.1.worker.0"
A_TIME, LATER = "2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z"
AT, LATER_AT = 1767323045.0, 1767323105.0
OPTIONS = KubernetesOptions(image="paddle:2.6")


def a_launch(
    spec: JobSpec, cluster: PhysicalCluster | None = None, name_of: Callable[[str], str] = address
) -> GangLaunch:
    if cluster is not None:
        spec = with_absolute_paths(spec, cluster)
    tasks: list[Task] = []
    for role in spec.roles:
        for index in range(role.replicas):
            one, rank, port = task_id("j1", 1, role.name, index), len(tasks), 36000 + 10 * len(tasks)
            ports = tuple(range(port, port + ports_needed(spec, role, index)))
            where = Placement("", name_of(one), ports=ports)
            name = f"{spec.name}-{role.name}-{index}"
            tasks.append(Task(one, "j1", 1, name, role.name, index, rank, where, TaskLaunching(0.0)))
    return compose(make_gang("j1", "amy", "k8s", 1, spec, tasks))


def objects_of(
    launch: GangLaunch, options: KubernetesOptions = OPTIONS, cluster: PhysicalCluster | None = None
) -> GangObjects:
    nodes = [read_node(a_node(gpus=2), options)]
    known = cluster or PhysicalCluster("k8s", "kubernetes", options=options)
    return GangObjects(launch, known, options, own_labels("server", "k8s"), lambda one: gpu_choice(one, nodes, options))


def a_pod(
    state: Mapping[str, Any] | None = None, *, node: str | None = "n1", phase: str = "Running", **status: Any
) -> dict[str, Any]:
    """`state` is that of the task's container."""
    statuses = [{"name": "task", "state": dict(state)}] if state is not None else []
    return {
        "metadata": {"name": "muster-j1-1-worker-0", "namespace": "ml", "labels": {"muster/task": TASK}},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, "containerStatuses": statuses, **status},
    }


def running() -> dict[str, Any]:
    return {"running": {"startedAt": A_TIME}}


def ended(exit_code: int, **more: Any) -> dict[str, Any]:
    return {"terminated": {"exitCode": exit_code, "startedAt": A_TIME, "finishedAt": LATER, **more}}


def a_node(name: str = "n1", *, gpus: int = 0, product: str = "NVIDIA-A100-SXM4-80GB", **more: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, **({"nvidia.com/gpu.product": product} if gpus else {})}
    free = {"cpu": "7500m", "memory": "32Gi", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    ready = {"type": "Ready", "status": more.pop("ready", "True"), "lastTransitionTime": A_TIME}
    status = {"allocatable": free, "conditions": [ready], "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}
    return {"metadata": {"name": name, "labels": {**labels, **more.pop("labels", {})}}, "spec": more, "status": status}
