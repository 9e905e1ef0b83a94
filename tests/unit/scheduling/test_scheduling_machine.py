"""Random clusters, virtual clusters, jobs and events; after each step nothing is lost, given twice or torn apart, and
promises and limits hold."""

import copy
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from muster.domain.nodes import Node, NodeState
from muster.domain.specs import Priority, Role, Spread, Together, Where
from muster.domain.virtual_clusters import Limits, OrderPolicy, VirtualCluster
from muster.scheduling.capacity.node_index import NodeIndex
from muster.scheduling.capacity.placement import place
from muster.scheduling.cluster_state import ClusterState
from muster.scheduling.demand import JobDemand, Slot
from muster.scheduling.ordering.wait_queue import TOP_PRIORITY
from muster.scheduling.plan import Plan
from tests.parts.building import GIB, a_node, a_role, with_extended
from tests.unit.scheduling.clusters import a_demand, a_vc, gpus

pytestmark = pytest.mark.fast
MODELS = ("A100", "V100")
FPGA = "xilinx.com/fpga"
VCS = ("", "art", "bio")
SETTLED = 30
"""More cycles at one moment than this mean that the plan never comes to rest."""

_capacities = st.tuples(
    st.integers(1, 16),
    st.integers(1, 16),
    st.sampled_from(MODELS),
    st.sampled_from([1, 2, 2, 4, 0, 8]),
    st.sampled_from(["r", "s", ""]),
    st.sampled_from([0, 0, 1, 2]),
)
_roles = st.one_of(
    st.builds(
        lambda n, r, models: gpus(n, r, *models),
        st.integers(1, 4),
        st.integers(1, 3),
        st.sampled_from([(), ("A100",), ("V100", "A100")]),
    ),
    st.builds(gpus, st.sampled_from([0.25, 0.5, 0.7]), st.integers(1, 2)),
    st.builds(
        lambda least, more, most: gpus(1, least + more, least=least, most=least + more + most),
        st.integers(1, 2),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    st.builds(
        lambda cpu, memory: a_role(cpu=cpu, memory=memory * GIB), st.sampled_from([0, 0.5, 2]), st.integers(0, 4)
    ),
    st.builds(
        lambda gpus, count, replicas: a_role(replicas=replicas, gpus=gpus, extended=((FPGA, count),)),
        st.sampled_from([0, 0, 1]),
        st.integers(1, 2),
        st.integers(1, 2),
    ),
)
_wheres = st.sampled_from([Where(), Where(), Where(), Where(spread=Spread.APART), Where(together=Together.RACK)])
_limits = st.sampled_from(
    [Limits(), Limits(), Limits(running_gpus=4), Limits(running_jobs=2), Limits(gpu_hours_week=0.002)]
)
_vcs = st.builds(
    lambda name, gpus, most, borrows, policy, limits, of_user: a_vc(
        name,
        gpus,
        most=None if most is None else gpus + most,
        borrows=borrows,
        policy=policy,
        limits=limits,
        user_limits=of_user,
    ),
    st.just(""),
    st.integers(0, 4),
    st.sampled_from([None, None, 2]),
    st.booleans(),
    st.sampled_from(OrderPolicy),
    _limits,
    _limits,
)
_jobs = st.tuples(
    _roles,
    st.sampled_from(Priority),
    st.sampled_from([None, None, None, 5.0]),
    st.fixed_dictionaries(
        {
            "vc": st.sampled_from(VCS),
            "user": st.sampled_from(["amy", "bob"]),
            "where": _wheres,
            "time_limit_s": st.sampled_from([None, None, 20.0, 90.0]),
            "preemptible": st.sampled_from([True, True, True, True, True, False]),
        }
    ),
)


class Cluster(RuleBasedStateMachine):
    """Plays the engine: does what plans say, and tells what happened."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState("lab")
        self.twin = ClusterState("lab")
        self.nodes: dict[str, Node] = {}
        self.vcs: dict[str, VirtualCluster] = {}
        self.waiting: dict[str, JobDemand] = {}
        self.held: dict[str, tuple[Slot, ...]] = {}
        self.demands: dict[str, JobDemand] = {}
        self.leaving: dict[str, tuple[Slot, ...]] = {}
        self.learnt: list[str] = []
        self.since: dict[str, float] = {}
        self.saved: dict[str, float] = {}
        self.were_preempted = False
        self.is_even = False
        self.now = 100.0

    # Events

    @initialize(capacities=st.lists(_capacities, min_size=2, max_size=5), is_even=st.booleans())
    def begin(self, capacities: list[tuple[int, int, str, int, str, int]], is_even: bool) -> None:
        """Even: nodes with as many free GPUs are as good as each other, so it does not matter which is taken."""
        self.is_even = is_even
        for number, (cpu, memory, model, count, rack, fpgas) in enumerate(capacities):
            if is_even:
                node = a_node(f"n{number}", 64, 64 * GIB, *["A100"] * count)
            else:
                node = replace(
                    with_extended(a_node(f"n{number}", cpu, memory * GIB, *[model] * count), fpgas),
                    labels={"rack": rack} if rack else {},
                )
            self._node(node)

    @rule(vcs=st.tuples(_vcs, _vcs))
    def virtual_clusters_change(self, vcs: tuple[VirtualCluster, VirtualCluster]) -> None:
        named = [replace(vc, name=name) for vc, name in zip(vcs, VCS[1:], strict=True)]
        if self.state.oversubscribed(named) is None:
            self.vcs = {vc.name: vc for vc in named}
            for state in (self.state, self.twin):
                state.configured(named)

    @rule(jobs=st.lists(_jobs, min_size=2, max_size=8))
    def jobs_come(self, jobs: list[tuple[Role, Priority, float | None, dict[str, object]]]) -> None:
        for role, priority, wait, fields in jobs:
            not_before = None if wait is None else self.now + wait
            job = a_demand(len(self.demands), role, priority=priority, not_before=not_before, **fields)
            self.demands[job.job_id] = job
            self._queue(job)
        self.time_passes(1.0)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def waiting_job_is_killed(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(sorted(self.waiting)))
        del self.waiting[job_id]
        for state in (self.state, self.twin):
            state.unqueued(job_id)
            state.released(job_id)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def running_job_ends(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(sorted(self.held)))
        del self.held[job_id]
        for state in (self.state, self.twin):
            state.released(job_id)
            state.learnt(self.demands[job_id], 10.0)
        self.learnt.append(job_id)

    @precondition(lambda self: self.leaving)
    @rule(data=st.data())
    def leaver_has_gone(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(sorted(self.leaving)))
        del self.leaving[job_id]
        for state in (self.state, self.twin):
            state.released(job_id)
        self._queue(replace(self.demands[job_id], not_before=None, waiting_since=self.now))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def job_saves_its_work(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(sorted(self.held)))
        self.saved[job_id] = self.now
        for state in (self.state, self.twin):
            state.checkpointed(job_id, self.now)

    @rule(data=st.data(), state=st.sampled_from([NodeState.READY, NodeState.READY, NodeState.UNREACHABLE]))
    def node_comes_and_goes(self, data: st.DataObject, state: NodeState) -> None:
        node = self.nodes[data.draw(st.sampled_from(sorted(self.nodes)))]
        self._node(replace(node, state=state))

    @rule(data=st.data())
    def node_is_lost_with_its_jobs(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        for state in (self.state, self.twin):
            state.node_removed(name)
        for job_id in [j for j, slots in self.held.items() if any(slot.node == name for slot in slots)]:
            del self.held[job_id]
            for state in (self.state, self.twin):
                state.released(job_id)
            self._queue(replace(self.demands[job_id], not_before=None))
        self._node(self.nodes[name])

    @rule(seconds=st.sampled_from([0.0, 1.0, 6.0, 61.0, 3700.0, 3 * 86400.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for _ in range(SETTLED):
            if not self._cycle():
                break
        else:
            raise AssertionError("the plan never comes to rest")
        computed = self.state.cycles
        assert self.state.cycle(self.now) == Plan(wake_at=self.state.cycle(self.now).wake_at)
        assert self.state.cycles == computed, "nothing has changed, and something was computed"
        self._check_promises()

    # What follows

    def _node(self, node: Node) -> None:
        self.nodes[node.name] = node
        for state in (self.state, self.twin):
            state.node_changed(node)

    def _queue(self, job: JobDemand) -> None:
        self.waiting[job.job_id] = job
        for state in (self.state, self.twin):
            state.queued(job)

    def _cycle(self) -> bool:
        before = set(self.state.allocations.by_job)
        is_plain = self._is_any_node_as_good() and not (
            self.vcs or self.leaving or self.were_preempted or self._is_anybody_protected()
        )
        rebuilt = self._rebuilt() if is_plain else None
        plan, again = self.state.cycle(self.now), self.twin.cycle(self.now)
        assert again == plan, "the same events, another plan"
        if rebuilt is not None:
            assert _ids(rebuilt.cycle(self.now)) == _ids(plan), "what a restart would plan"
        for preemption in plan.preemptions:
            assert self.demands[preemption.job_id].preemptible
            self.leaving[preemption.job_id] = self.held.pop(preemption.job_id)
            self.saved.pop(preemption.job_id, None)
            self.were_preempted = True
        for start in plan.starts:
            self._start(start.job_id, start.slots)
        self._check_limits(set(self.state.allocations.by_job) - before)
        return bool(plan.starts or plan.preemptions or (plan.wake_at is not None and plan.wake_at <= self.now))

    def _start(self, job_id: str, slots: tuple[Slot, ...]) -> None:
        job = self.waiting.pop(job_id)
        assert job_id not in self.held
        assert job.not_before is None or job.not_before <= self.now
        self._check_gang(job, slots)
        self._check_where(job.where, slots)
        busy = {(slot.node, device) for left in self.leaving.values() for slot in left for device in slot.devices}
        whole = [slot for slot in slots if not slot.resources.shares_gpu]  # a part may be free beside one who leaves
        assert not busy & {(slot.node, device) for slot in whole for device in slot.devices}, "others still leave it"
        others = {device for left in self.leaving.values() for slot in left for device in _extended(slot)}
        assert not others & {device for slot in slots for device in _extended(slot)}, "others still leave it"
        self.held[job_id], self.since[job_id] = slots, self.now

    def _is_any_node_as_good(self) -> bool:
        """Of those with as many free GPUs; parts of cards, and tasks that must be apart, tell them from each other."""
        is_whole = not any(task.resources.shares_gpu for job in self.demands.values() for task in job.tasks)
        return self.is_even and is_whole and all(job.where == Where() for job in self.waiting.values())

    def _is_anybody_protected(self) -> bool:
        """After a long wait; nobody remembers that over a restart."""
        return any(holder.protected_until > self.now for holder in self.state.allocations.by_job.values())

    def _rebuilt(self) -> ClusterState:
        """From what is told after a restart."""
        state = ClusterState("lab")
        for node in self.nodes.values():
            state.node_changed(node)
        for job_id in self.learnt:
            state.learnt(self.demands[job_id], 10.0)
        for job_id, slots in self.held.items():
            state.holds(self.demands[job_id], slots, self.since[job_id])
            if job_id in self.saved:
                state.checkpointed(job_id, self.saved[job_id])
        for job in self.waiting.values():
            state.queued(job)
        return state

    # What holds

    def _check_gang(self, job: JobDemand, slots: tuple[Slot, ...]) -> None:
        given = {(slot.role, slot.index): slot.resources for slot in slots}
        asked = {(task.role, task.index): task.resources for task in job.tasks}
        assert len(given) == len(slots)
        if not job.elastic:
            assert given == asked, "a gang is whole"
            return
        (elastic,) = job.elastic
        assert elastic.least <= len(slots) <= elastic.most
        assert set(given) == {(elastic.role, index) for index in range(len(slots))}

    def _check_where(self, where: Where, slots: tuple[Slot, ...]) -> None:
        nodes = [self.nodes[slot.node] for slot in slots]
        assert all(node.is_usable for node in nodes)
        if where.spread is Spread.APART:
            assert len({node.name for node in nodes}) == len(nodes)
        if where.together is Together.RACK:
            assert len({node.labels.get("rack", node.name) for node in nodes}) == 1
        for slot, node in zip(slots, nodes, strict=True):
            models = {device.index: device.model for device in node.capacity.devices}
            given = {models[index] for index in slot.devices}
            assert len(slot.devices) == slot.resources.gpus
            assert len(given) <= 1
            assert not slot.resources.gpu_models or given <= set(slot.resources.gpu_models)
            assert Counter(device.resource for device in slot.extended) == dict(slot.resources.extended)
            assert set(slot.extended) <= set(node.capacity.extended), "devices of another node"

    def _check_limits(self, new: set[str]) -> None:
        """Of every job that got slots in this cycle."""
        allocations = self.state.allocations.by_job
        for job_id in new & set(allocations):
            job = allocations[job_id].job
            vc = self.vcs.get(job.vc)
            if vc is None:
                continue
            own = [one for one in allocations.values() if one.job.vc == job.vc]
            used = sum(one.shape.gpu_m for one in own) / 1000
            assert vc.max is None or used <= vc.max.gpus[""] or not allocations[job_id].shape.gpu_m
            for limits, user in ((vc.limits, None), (vc.user_limits, job.user)):
                theirs = [one for one in own if user in (None, one.job.user)]
                used = sum(one.shape.gpu_m for one in theirs) / 1000
                assert limits.running_jobs is None or len(theirs) <= limits.running_jobs
                assert limits.running_gpus is None or used <= limits.running_gpus or not gpu_m(job)
            if not job.preemptible and self.state.guarantees.cells:
                assert allocations[job_id].guaranteed == allocations[job_id].slots, "it borrows"
            if not vc.borrows:
                assert allocations[job_id].guaranteed is not None, "it borrows"

    def _check_promises(self) -> None:
        """Nobody waits who would find room in the cells of its virtual cluster, as they are left."""
        if any(not job.preemptible for job in self.demands.values()):
            return  # one that lost its promise when the virtual clusters changed stays where it is
        aged = [one for one in self.state.queue.lanes.jobs.values() if one.priority >= TOP_PRIORITY]
        for vc in self.vcs.values():
            cells = self.state.guarantees.cells.get(vc.name, NodeIndex())
            for waiting in self.state.queue.lanes.jobs.values():
                job, shape = waiting.job, waiting.shape
                if job.vc != vc.name or self.state.limits.exceeded(job, shape, self.now) is not None:
                    continue
                if any(task.resources.extended for task in job.tasks):
                    continue  # devices other than GPUs are guaranteed to nobody
                if any(first.job.vc == vc.name and first.key < waiting.key for first in aged):
                    continue  # the guarantee is kept for a job that has waited longest
                slots = place(shape, copy.deepcopy(cells))
                assert slots is None, f"{job.job_id} is promised {slots} and waits"

    @invariant()
    def resources_are_conserved(self) -> None:
        claims = [slot for holder in self.state.allocations.by_job.values() for slot in holder.slots]
        for name, node in self.nodes.items():
            ledger = self.state.allocations.nodes.by_name[name]
            here = [slot for slot in claims if slot.node == name]
            assert ledger.cpu_m + sum(slot.resources.cpu_m for slot in here) == node.capacity.cpu_m
            assert ledger.memory_bytes + sum(s.resources.memory_bytes for s in here) == node.capacity.memory_bytes
            assert min(ledger.cpu_m, ledger.memory_bytes) >= 0
            used: Counter[int] = Counter()
            for slot in here:
                used.update(dict.fromkeys(slot.devices, slot.resources.gpu_share))
            assert all(part <= 1000 for part in used.values()), "a device is held twice"
            for device in node.capacity.devices:
                assert ledger.room_on(device.index) == 1000 - used[device.index]
            others = [device for slot in here for device in slot.extended]
            assert len(others) == len(set(others)), "a device is held twice"
            free = [device for devices in ledger.free_extended.values() for device in devices.values()]
            assert set(free) | set(others) == set(node.capacity.extended)
            assert not set(free) & set(others)

    @invariant()
    def what_runs_fits_beside_what_leaves(self) -> None:
        there = [slot for slots in (*self.held.values(), *self.leaving.values()) for slot in slots]
        for name, node in self.nodes.items():
            here = [slot for slot in there if slot.node == name]
            assert sum(slot.resources.cpu_m for slot in here) <= node.capacity.cpu_m
            assert sum(slot.resources.memory_bytes for slot in here) <= node.capacity.memory_bytes
            used: Counter[int] = Counter()
            for slot in here:
                used.update(dict.fromkeys(slot.devices, slot.resources.gpu_share))
            assert all(part <= 1000 for part in used.values())
            others = [device for slot in here for device in slot.extended]
            assert len(others) == len(set(others)), "a device is held twice"

    @invariant()
    def nobody_has_slots_and_waits(self) -> None:
        queue, allocations = self.state.queue, self.state.allocations
        has_slots = set(allocations.by_job)
        assert not set(queue.lanes.jobs) & has_slots
        assert set(self.held) <= has_slots
        assert has_slots - set(self.held) <= set(self.waiting), "slots of nobody"
        assert set(allocations.preempted) == set(self.leaving)
        assert set(self.waiting) == set(queue.lanes.jobs) | set(queue.parked) | (has_slots - set(self.held))

    @invariant()
    def who_waits_is_told_why(self) -> None:
        for job_id in self.waiting:
            if job_id in self.state.queue.lanes.jobs and self.state.cycles and not self.state.changes.is_pending:
                assert self.state.reasons(job_id, self.now), f"{job_id} waits and nobody knows why"


def _ids(plan: Plan) -> tuple[set[str], set[str]]:
    return {start.job_id for start in plan.starts}, {preemption.job_id for preemption in plan.preemptions}


def _extended(slot: Slot) -> list[tuple[str, str, int]]:
    return [(slot.node, device.resource, device.index) for device in slot.extended]


def gpu_m(job: JobDemand) -> int:
    return sum(task.resources.gpu_m for task in job.tasks)


TestCluster = Cluster.TestCase
IS_SEARCHING = settings.get_current_profile_name() == "searching"
TestCluster.settings = settings() if IS_SEARCHING else settings(max_examples=100, stateful_step_count=40, deadline=None)
