"""A preemption lowers what a user runs, so that a job behind a limit is looked at again at once."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from muster.domain.nodes import Node
from muster.domain.specs import Priority, Role
from muster.domain.virtual_clusters import Limits
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import JobDemand, Slot
from tests.parts.building import GIB, a_node, a_role
from tests.unit.scheduling.clusters import a_demand, a_vc, gpus

pytestmark = pytest.mark.fast


class Story:
    """A cluster of five nodes, told what happens and cycled until nothing more is decided."""

    def __init__(self) -> None:
        self.state = ClusterState("lab")
        self.now = 100.0
        self.nodes: list[Node] = [
            replace(a_node(f"n{number}", 1, GIB, "A100"), labels={"rack": "r"}) for number in range(5)
        ]
        self.demands: dict[str, JobDemand] = {}
        self.held: dict[str, tuple[Slot, ...]] = {}
        for node in self.nodes:
            self.state.node_changed(node)

    def queue(self, number: int, role: Role, **more: object) -> None:
        demand = a_demand(number, role, user="amy", **more)  # type: ignore[arg-type]
        self.demands[demand.job_id] = demand
        self.state.queued(demand)

    def run(self) -> None:
        self.now += 1
        for _ in range(9):
            plan = self.state.cycle(self.now)
            for preemption in plan.preemptions:
                self.held.pop(preemption.job_id)
            self.held.update({start.job_id: start.slots for start in plan.starts})
            is_due = plan.wake_at is not None and plan.wake_at <= self.now
            if not (plan.starts or plan.preemptions or is_due):
                return

    def lose(self, node: Node) -> None:
        """The node leaves, its jobs go back to the queue, and it comes back."""
        self.state.node_removed(node.name)
        for job_id in [job_id for job_id, slots in self.held.items() if any(one.node == node.name for one in slots)]:
            del self.held[job_id]
            self.state.released(job_id)
            self.state.queued(self.demands[job_id])
        self.state.node_changed(node)


def test_a_job_behind_a_limit_starts_in_the_cycle_whose_preemption_makes_room_for_it() -> None:
    story, low = Story(), Priority.LOW
    bio: Mapping[str, object] = {"vc": "bio", "priority": low}
    story.queue(0, gpus(1))
    story.queue(1, gpus(1, 2), **bio)
    story.run()
    for first in (2, 4):
        for number in (first, first + 1):
            story.queue(number, gpus(0.25), priority=low)
        story.run()
    limits = Limits(running_jobs=2)
    story.state.configured([a_vc("art", 0, borrows=False), a_vc("bio", 1, borrows=False, user_limits=limits)])
    for number in (6, 7):
        story.queue(number, gpus(0.25), priority=low)
    story.run()
    story.lose(story.nodes[0])
    story.queue(8, gpus(0.25), **bio)
    story.queue(9, a_role(cpu=0, memory=0), **bio)
    story.run()
    assert story.state.has_slots("j9")
