"""A large cluster that never was: nodes of eight GPUs, virtual clusters with shares and limits, and a long queue.

Everything that makes a decision hard is on: guarantees, largest shares, limits of virtual clusters and of users, four
priorities, three orders, preemption, gangs on one node and on two. The same seed makes the same crowd.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from muster.domain.nodes import Node, NodeState
from muster.domain.resources import Capacity, Device, Resources
from muster.domain.virtual_clusters import Limits, OrderPolicy, Share, VirtualCluster
from muster.scheduling.demand import JobDemand, TaskDemand

CLUSTER = "crowded"
GPUS_PER_NODE = 8
VCS, USERS = 20, 200
GANGS = ((1, 40), (2, 20), (4, 15), (8, 15), (16, 10))
"""GPUs of a gang, and how many of a hundred jobs ask for so many."""
PRIORITIES = ((0, 20), (1, 60), (2, 15), (3, 5))
POLICIES = (OrderPolicy.DEFAULT, OrderPolicy.DEFAULT, OrderPolicy.DEFAULT, OrderPolicy.FAIR, OrderPolicy.LAS)
GUARANTEED = 0.9
"""The part of the cluster that is promised to somebody."""
QUEUED_OVER_S = 6 * 3600.0
_CPU_M, _GIB = 96_000, 1 << 30
_MODEL = "H100"


def nodes(number: int) -> list[Node]:
    devices = tuple(Device(index, _MODEL) for index in range(GPUS_PER_NODE))
    capacity = Capacity(_CPU_M, 1024 * _GIB, devices)
    return [Node(f"node-{index:05}", CLUSTER, "", capacity, NodeState.READY) for index in range(number)]


def virtual_clusters(number_of_nodes: int) -> list[VirtualCluster]:
    share = int(number_of_nodes * GUARANTEED / VCS) * GPUS_PER_NODE
    return [
        VirtualCluster(
            f"vc-{index:02}",
            CLUSTER,
            guaranteed=Share({"": share}),
            max=Share({"": 2 * share}),
            policy=POLICIES[index % len(POLICIES)],
            limits=Limits(running_gpus=3 * share // 2),
            user_limits=Limits(running_gpus=share // 2),
        )
        for index in range(VCS)
    ]


def demands(seed: int, now: float = 0.0) -> Iterator[JobDemand]:
    """Without end. They came over the hours before `now`; a user belongs to one virtual cluster."""
    source = random.Random(seed)
    gangs = {gpus: _tasks(gpus) for gpus, _ in GANGS}
    for number in count():
        gpus = _drawn(source, GANGS)
        user = source.randrange(USERS)
        yield JobDemand(
            job_id=f"job-{seed}-{number:07}",
            name=f"train-{user}",
            tasks=gangs[gpus],
            created_at=now - source.uniform(0, QUEUED_OVER_S),
            priority=_drawn(source, PRIORITIES),
            user=f"user-{user:03}",
            vc=f"vc-{user % VCS:02}",
            similarity=(f"user-{user:03}|{gpus}", f"{gpus}", ""),
        )


def unlike(jobs: Iterator[JobDemand]) -> Iterator[JobDemand]:
    """The same jobs, each asking for a little more memory than the one before."""
    for number, job in enumerate(jobs):
        more = tuple(
            replace(task, resources=replace(task.resources, memory_bytes=task.resources.memory_bytes + number))
            for task in job.tasks
        )
        yield replace(job, tasks=more)


def _drawn(source: random.Random, weighted: tuple[tuple[int, int], ...]) -> int:
    place = source.randrange(100)
    for value, weight in weighted:
        place -= weight
        if place < 0:
            return value
    return weighted[-1][0]


def _tasks(gpus: int) -> tuple[TaskDemand, ...]:
    """A gang of more than a node's GPUs is several tasks of a whole node each."""
    each = min(gpus, GPUS_PER_NODE)
    resources = Resources(each * 4000, each * 32 * _GIB, each)
    return tuple(TaskDemand("worker", index, resources) for index in range(gpus // each))
