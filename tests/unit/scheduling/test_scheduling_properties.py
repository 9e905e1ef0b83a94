"""Random nodes, jobs and events; after each step nothing is lost, given twice or torn apart."""

import copy

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from muster.domain.nodes import Node, NodeState
from muster.domain.specs import Priority, Role
from muster.scheduling.demand import JobDemand, Plan, Slot
from muster.scheduling.state import ClusterState
from tests.parts.building import GIB, a_node, a_role
from tests.unit.scheduling.test_scheduling_examples import a_demand

pytestmark = pytest.mark.fast
MODELS = ["A100", "V100"]

_nodes = st.builds(
    lambda number, cpu, memory, models, state: a_node(f"n{number}", cpu, memory * GIB, *models, state=state),
    st.integers(0, 3),
    st.integers(1, 8),
    st.integers(1, 16),
    st.lists(st.sampled_from(MODELS), max_size=4),
    st.sampled_from([NodeState.READY, NodeState.READY, NodeState.UNREACHABLE]),
)
_roles = st.builds(
    lambda name, replicas, cpu, memory, gpus, models: a_role(
        name, replicas, cpu=cpu, memory=memory * GIB, gpus=gpus, models=tuple(models)
    ),
    st.sampled_from(["worker", "ps"]),
    st.integers(1, 3),
    st.sampled_from([0, 0.5, 1, 2]),
    st.integers(0, 4),
    st.integers(0, 2),
    st.lists(st.sampled_from(MODELS), unique=True, max_size=2),
)


class Scheduler(RuleBasedStateMachine):
    queued = Bundle("queued")

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState("lab")
        self.nodes: dict[str, Node] = {}
        self.waiting: dict[str, JobDemand] = {}
        self.held: dict[str, tuple[Slot, ...]] = {}
        self.demands: dict[str, JobDemand] = {}
        self.now = 0.0

    @rule(node=_nodes)
    def node_changes(self, node: Node) -> None:
        """Devices keep their models: a card is not exchanged while tasks use it."""
        if any(slot.node == node.name for slots in self.held.values() for slot in slots):
            node = Node(node.name, "lab", "", self.nodes[node.name].capacity, node.state)
        self.nodes[node.name] = node
        self.state.node_changed(node)

    @rule(target=queued, role=_roles, priority=st.sampled_from(Priority), wait=st.sampled_from([None, 5.0]))
    def job_comes(self, role: Role, priority: Priority, wait: float | None) -> str:
        base = a_demand(len(self.demands), role, priority=priority)
        not_before = None if wait is None else self.now + wait
        demand = JobDemand(base.job_id, base.name, base.order, base.tasks, not_before)
        self.demands[demand.job_id] = self.waiting[demand.job_id] = demand
        self.state.queued(demand)
        return demand.job_id

    @rule(job=consumes(queued))
    def job_leaves(self, job: str) -> None:
        if job in self.held:
            del self.held[job]
            self.state.released(job)
        else:
            self.waiting.pop(job, None)
            self.state.unqueued(job)

    @rule(target=queued, job=consumes(queued))
    def job_is_tried_again(self, job: str) -> str:
        if job in self.held:
            del self.held[job]
            self.state.released(job)
        self.waiting[job] = self.demands[job]
        self.state.queued(self.demands[job])
        return job

    @rule(seconds=st.sampled_from([0.0, 1.0, 6.0]))
    def cycle(self, seconds: float) -> None:
        self.now += seconds
        rebuilt, twin = self._rebuilt(), copy.deepcopy(self.state)
        plan = self.state.cycle(self.now)
        assert rebuilt.cycle(self.now) == plan, "what a restart would plan"
        assert twin.cycle(self.now) == plan, "the same twice"
        self._accept(plan)

    def _accept(self, plan: Plan) -> None:
        for start in plan.starts:
            demand = self.waiting.pop(start.job_id)
            assert sorted((slot.role, slot.index) for slot in start.slots) == sorted(
                (task.role, task.index) for task in demand.tasks
            ), "a gang is whole"
            assert all(self.nodes[slot.node].is_usable for slot in start.slots)
            assert demand.not_before is None or demand.not_before <= self.now
            self.held[start.job_id] = start.slots
        assert set(plan.waits) <= set(self.waiting)
        assert all(reason.message and reason.code for reason in plan.waits.values())
        if not plan.starts and self.waiting:
            assert plan.waits, "somebody waits and nobody is told why"

    def _rebuilt(self) -> ClusterState:
        """As after a restart: nodes, then what runs, then what waits."""
        rebuilt = ClusterState("lab")
        for name in self.state._nodes:
            rebuilt.node_changed(self.nodes[name])
        for job_id, slots in self.held.items():
            rebuilt.holds(job_id, slots)
        for demand in self.waiting.values():
            rebuilt.queued(demand)
        return rebuilt

    @invariant()
    def resources_are_conserved(self) -> None:
        for name, node in self.nodes.items():
            slots = [slot for held in self.held.values() for slot in held if slot.node == name]
            ledger = self.state._nodes[name]
            assert ledger.cpu_m + sum(slot.resources.cpu_m for slot in slots) == node.capacity.cpu_m
            assert (
                ledger.memory_bytes + sum(slot.resources.memory_bytes for slot in slots) == node.capacity.memory_bytes
            )
            free = [index for indices in ledger.devices.values() for index in indices]
            taken = [index for slot in slots for index in slot.devices]
            assert sorted(free + taken) == [device.index for device in node.capacity.devices]
            assert min(ledger.cpu_m, ledger.memory_bytes) >= 0

    @invariant()
    def each_task_has_what_it_asked_for(self) -> None:
        for slots in self.held.values():
            for slot in slots:
                models = {device.index: device.model for device in self.nodes[slot.node].capacity.devices}
                given = {models[index] for index in slot.devices}
                assert len(slot.devices) == slot.resources.gpus
                assert len(given) <= 1
                assert not slot.resources.gpu_models or given <= set(slot.resources.gpu_models)

    @invariant()
    def the_queue_is_what_waits(self) -> None:
        assert self.state.waiting == len(self.waiting)
        assert all(self.state.reason(job_id) is None for job_id in self.held)


TestScheduler = Scheduler.TestCase
TestScheduler.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
