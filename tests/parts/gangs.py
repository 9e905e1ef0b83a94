"""Nodes, pods and gangs for tests of gang scheduling. Amounts are whole, in a resource named `slot` unless given."""

from typing import Any

from muster.operator.job.paddle_job import PaddleJob, read_job
from muster.operator.scheduling.gangs import Gang, gang_of
from muster.operator.scheduling.nodes import Node
from muster.operator.scheduling.room import Footprint, Room

SLOT = "example.com/slot"


def job(
    name: str = "job", worker: int = 2, ps: int = 0, *, slots: int = 1, created: str = "", **more: Any
) -> PaddleJob:
    """`more` is merged into the spec; `pod` into the specs of all pods, `worker_pod` into those of the workers."""
    pods = {"ps": more.pop("pod", {})}
    pods["worker"] = {**pods["ps"], **more.pop("worker_pod", {})}
    status, least = more.pop("status", {}), more.pop("least", None)
    container = {"name": "main", "image": "i", "resources": {"limits": {SLOT: slots}}}
    roles = {
        role: {"replicas": count, "template": {"spec": {"containers": [container], **pods[role]}}}
        for role, count in (("ps", ps), ("worker", worker))
        if count
    }
    if least is not None:
        roles["worker"]["requests"] = least
    metadata = {
        "namespace": "ns",
        "name": name,
        "uid": f"uid-{name}",
        "creationTimestamp": created or "2026-01-01T00:00:00Z",
    }
    found = read_job({"metadata": metadata, "spec": {**roles, **more}, "status": status})
    assert not found.problems
    return found


def gang(
    *args: Any,
    started: bool = False,
    priorities: dict[str, int] | None = None,
    refused_at: float | None = None,
    **more: Any,
) -> Gang:
    return gang_of(job(*args, **more), priorities, has_started=started, refused_at=refused_at)


def node(name: str, slots: int, pods: int = 100, **more: Any) -> Node:
    labels, taints = more.pop("labels", {}), more.pop("taints", ())
    offers = {SLOT: slots * 1000, "pods": pods * 1000, **{key: value * 1000 for key, value in more.items()}}
    return Node(name, labels, tuple(taints), offers)


def room(*nodes: Node) -> Room:
    made = Room()
    for one in nodes:
        made.put_node(one)
    return made


def running(node_name: str, slots: int = 1, **more: Any) -> Footprint:
    return Footprint(amounts={SLOT: slots * 1000, "pods": 1000}, node=node_name, **{"attempt": "0", **more})
