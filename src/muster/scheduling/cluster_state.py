"""The scheduler's state of one cluster: events in, plans out, and answers to people's questions.

It wires the parts together and passes each event on to those that it concerns. A look ahead is a copy of the same
state, run on in virtual time.
"""

import pickle
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy

from muster.domain.nodes import Node
from muster.domain.reasons import Reason
from muster.domain.schedule import Reserved
from muster.domain.virtual_clusters import VirtualCluster
from muster.scheduling.allocations.accounting import Accounts
from muster.scheduling.allocations.allocation import may_be_preempted, slots_on_nodes
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.limits import UsageLimits
from muster.scheduling.allocations.reservations import Reservations
from muster.scheduling.allocations.running_ranks import RunningRanks
from muster.scheduling.allocations.usage_views import Quota, ShareView, StartForecast, WhatIf
from muster.scheduling.capacity.capacity_check import CapacityCheck
from muster.scheduling.capacity.elastic_sizes import sized
from muster.scheduling.capacity.placement import allocate_slots, place
from muster.scheduling.capacity.shapes import Shapes
from muster.scheduling.changes import Changes
from muster.scheduling.demand import JobDemand, Slot, gpus_of
from muster.scheduling.guarantees.cells import oversubscribed
from muster.scheduling.guarantees.guaranteed_shares import Guarantees
from muster.scheduling.ordering.lanes import LaneKey
from muster.scheduling.ordering.order_policies import Policy
from muster.scheduling.ordering.runtime_prediction import Predictor
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.ordering.wait_queue import WaitQueue
from muster.scheduling.passes.dispatch import Dispatcher
from muster.scheduling.passes.elastic_growth import ElasticGrowth
from muster.scheduling.passes.guarantee_pass import GuaranteePass
from muster.scheduling.passes.open_pass import OpenPass
from muster.scheduling.passes.reclaim import Reclaim
from muster.scheduling.plan import Plan, Start
from muster.scheduling.planner import Planner
from muster.scheduling.preemption.preemption_index import PreemptionIndex
from muster.scheduling.preemption.preemption_policy import PreemptionPolicy
from muster.scheduling.reporting.plan_reasons import PlanReasons
from muster.scheduling.reporting.start_forecast import start_forecast
from muster.scheduling.reporting.supposing import suppose
from muster.scheduling.reporting.usage_report import UsageReport
from muster.scheduling.timers import Timers

_LARGEST_COPY = 5000
"""How many jobs and nodes a state may have for a look ahead, which copies all of it while others wait."""


class ClusterState:
    def __init__(self, name: str, *, may_interrupt: bool = True) -> None:
        self.name = name
        self.predictor = Predictor()
        self.changes = Changes()
        self.timers = Timers()
        self.shapes = Shapes()
        verdicts: dict[LaneKey, Reason | None] = {}
        self.settings = VcSettings(self.predictor, may_interrupt=may_interrupt)
        self.accounts = Accounts()
        self.limits = UsageLimits(self.settings, self.accounts, self.timers)
        self.queue = WaitQueue(self.settings, self.predictor, self.shapes, self.timers, self.changes)
        self.allocations = Allocations()
        self.guarantees = Guarantees(self.allocations, self.queue.needs, self.changes)
        self.reservations = Reservations(self.allocations)
        self.ranks = RunningRanks(self.settings, self.timers, self.changes)
        self.dispatcher = Dispatcher(
            self.settings,
            self.shapes,
            self.queue,
            self.allocations,
            self.guarantees,
            self.reservations,
            self.accounts,
            self.ranks,
            self.changes,
        )
        self._reasons = PlanReasons(self.queue, self.allocations, self.reservations, self.changes, verdicts)
        self._planner = self._a_planner(verdicts)
        self._capacity_check = CapacityCheck(self.allocations.nodes, self.shapes)
        self._report = UsageReport(
            self.settings, self.queue, self.allocations, self.guarantees, self.accounts, self.predictor, verdicts
        )

    def _a_planner(self, verdicts: dict[LaneKey, Reason | None]) -> Planner:
        """`verdicts` say why the head of each lane did not start in the latest cycle; None: it found no slots."""
        preemption = PreemptionPolicy(self.settings, self.allocations, self.ranks, self.predictor)
        index = PreemptionIndex(
            self.allocations.nodes, self.allocations.by_job, slots_on_nodes, may_be_preempted, self.queue.needs
        )
        reclaim = Reclaim(self.allocations, self.guarantees, index, self.dispatcher)
        guarantee_pass = GuaranteePass(
            self.settings,
            self.shapes,
            self.queue,
            self.allocations,
            self.guarantees,
            self.accounts,
            self.limits,
            preemption,
            reclaim,
            self.dispatcher,
            verdicts,
        )
        open_pass = OpenPass(
            self.settings,
            self.shapes,
            self.queue,
            self.allocations,
            self.guarantees,
            self.reservations,
            self.accounts,
            self.limits,
            preemption,
            index,
            self.dispatcher,
            verdicts,
        )
        return Planner(
            self.settings,
            self.queue,
            self.allocations,
            self.guarantees,
            self.reservations,
            self.accounts,
            self.ranks,
            preemption,
            self.dispatcher,
            guarantee_pass,
            open_pass,
            ElasticGrowth(self.shapes, self.allocations, self.limits, self.dispatcher),
            self._reasons,
            verdicts,
            self.timers,
            self.changes,
        )

    # Events

    def node_changed(self, node: Node) -> None:
        """A node joined, or its capacity or state has changed. What jobs have there stays allocated."""
        before = self.allocations.nodes.by_name.get(node.name)
        if before is not None and before.node == node:
            return
        if not node.is_usable:
            self._withdraw_starts(node.name)
        self.allocations.put_node(node)
        self.guarantees.outdate()
        self.changes.mark()

    def node_removed(self, name: str) -> None:
        self._withdraw_starts(name)
        self.allocations.nodes.drop(name)
        self.guarantees.outdate()
        self.changes.mark()

    def queued(self, job: JobDemand) -> None:
        """The job waits; or it asks for something else now, or has moved to another virtual cluster."""
        self.unqueued(job.job_id)
        self.queue.add(job)

    def unqueued(self, job_id: str) -> None:
        """The job no longer waits."""
        self.queue.remove(job_id)
        allocation = self.allocations.by_job.get(job_id)
        if allocation is not None and allocation.waited is not None:
            self.dispatcher.release(job_id)

    def holds(self, job: JobDemand, slots: Iterable[Slot], since: float) -> None:
        """The job already has these slots: reported after a restart of the server."""
        taken = tuple(slots)
        allocate_slots(taken, self.allocations.nodes)
        actual = sized(job, Counter(slot.role for slot in taken)) if job.elastic else job
        self.dispatcher.restore(actual, taken, since).is_grown = len(actual.tasks) > len(job.tasks)
        self.guarantees.outdate()

    def checkpointed(self, job_id: str, at: float) -> None:
        """The work of a running job up to now is safe."""
        allocation = self.allocations.by_job.get(job_id)
        if allocation is not None:
            was_resumable, allocation.checkpoint_at = allocation.is_resumable, at
            if not was_resumable:
                self.ranks.became_resumable(allocation, at)
            self.dispatcher.touch(allocation)
            self.changes.mark_vc(allocation.job.vc)
            self.changes.mark()

    def released(self, job_id: str) -> None:
        """The job no longer runs: it was preempted, has ended, or never started."""
        self.dispatcher.release(job_id)

    def learnt(self, job: JobDemand, ran_s: float) -> None:
        """A job ended by itself after so much run time, which helps to predict similar jobs."""
        gpus = gpus_of(job)
        predicted = None if job.predicted_s is None else job.predicted_s * gpus
        self.predictor.learn(job.similarity, ran_s * gpus, predicted)

    def charged(self, vc: str, user: str, gpu_s: float, at: float) -> None:
        """GPU time was used before this state began. It counts for limits and fairness."""
        self.accounts.charge(vc, user, gpu_s, at)

    def follow(self, policy: Policy) -> None:
        """Use this policy instead of the default one. Called before the first job comes."""
        self.settings.follow(policy)

    def configured(self, virtual_clusters: Iterable[VirtualCluster]) -> None:
        """These are the virtual clusters now. Waiting jobs are ranked anew; running jobs stay."""
        self.settings.configure(virtual_clusters)
        self.guarantees.outdate()
        self.changes.mark()
        self.queue.rank_anew()

    def _withdraw_starts(self, node: str) -> None:
        """Starts that no plan has named yet: they waited for preempted jobs to stop."""
        for allocation in self.allocations.planned_on(node):
            self.dispatcher.withdraw(allocation)

    # Plans

    def cycle(self, now: float) -> Plan:
        """Start what can start. The slots of the jobs that start are allocated when this returns."""
        return self._planner.cycle(now)

    def start_at_once(self, job: JobDemand, now: float) -> Start | None:
        """Start a job that has just come, if nobody waits and there is room. Its slots are allocated afterwards."""
        if len(self.queue) or self.allocations.preempted or self.guarantees.cells:
            return None
        if job.blocked is not None or job.elastic:
            return None
        self.accounts.settle(now)
        shape = self.shapes.of(job)
        if self.limits.forbids(job, shape, now) is not None:
            return None
        slots = place(shape, self.allocations.nodes)
        if slots is None:
            return None
        self.dispatcher.restore(job, slots, now)
        return Start(job.job_id, slots)

    def is_planned(self, start: Start) -> bool:
        """Whether the slots of this start are still the job's."""
        allocation = self.allocations.by_job.get(start.job_id)
        return allocation is not None and allocation.slots is start.slots

    # Answers

    @property
    def cycles(self) -> int:
        """How many cycles have computed something."""
        return self.changes.cycles

    @property
    def waiting(self) -> int:
        return len(self.queue) + len(self.queue.parked) + self.allocations.blocked

    @property
    def is_short(self) -> bool:
        """Whether a job waits that would start if there were room."""
        return len(self.queue) > 0

    def waiting_order(self) -> list[str]:
        """The waiting jobs that may start, in the order in which they are looked at."""
        return [one.job.job_id for one in sorted(self.queue.lanes.jobs.values(), key=lambda one: one.key)]

    def nodes(self) -> list[Node]:
        return [capacity.node for capacity in self.allocations.nodes.by_name.values()]

    def has_slots(self, job_id: str) -> bool:
        return job_id in self.allocations.by_job

    def jobs_on(self, node: str) -> list[str]:
        """The jobs that have slots on the node."""
        capacity = self.allocations.nodes.by_name.get(node)
        return [] if capacity is None else [job_id for job_id in capacity.jobs if self.has_slots(job_id)]

    def never_fits(self, job: JobDemand) -> Reason | None:
        """Why the gang can never run, even with nobody else on the cluster; None if it can."""
        return self._capacity_check.never_fits(job)

    def slots_alone(self, job: JobDemand) -> tuple[Slot, ...] | None:
        """Where the gang would be with nobody else on the cluster; None if that is not known. Nothing is taken."""
        return self._capacity_check.slots_alone(job)

    def reasons(self, job_id: str, now: float) -> tuple[Reason, ...]:
        """Why a queued job waits, what matters most first."""
        return self._reasons.of(job_id, now)

    def reason(self, job_id: str) -> Reason | None:
        return self._reasons.get(job_id)

    def estimate(self, job_id: str, now: float) -> StartForecast | None:
        """About when it starts if nothing new comes, or None if that is not known."""
        if job_id not in self.queue.lanes.jobs or self._is_too_large_to_copy:
            return None
        return start_forecast(deepcopy(self), job_id, now)

    def snapshot(self) -> bytes | None:
        """A copy for a look ahead, which may run on another thread. None if the state is too large. Pickling takes a
        third of the time of a deep copy, while everything else waits."""
        return None if self._is_too_large_to_copy else pickle.dumps(self, pickle.HIGHEST_PROTOCOL)

    def reserved(self) -> list[Reserved]:
        """What is kept for jobs that do not fit yet: for those that wait for preempted jobs to stop, and for the one
        that is next."""
        found = [
            Reserved(job_id, None, tuple(dict.fromkeys(slot.node for slot in allocation.slots)))
            for job_id, allocation in self.allocations.by_job.items()
            if allocation.blocked_by
        ]
        current = self.reservations.current
        if current is not None and current.job.job_id in self.queue.lanes.jobs:
            found.append(Reserved(current.job.job_id, current.at, tuple(current.spare)))
        return found

    def what_if(self, job: JobDemand, now: float) -> WhatIf:
        """The answer for a changed demand. Nothing here changes."""
        if self._is_too_large_to_copy:
            return WhatIf(self.reasons(job.job_id, now), None)
        return suppose(deepcopy(self), job, now)

    def oversubscribed(self, virtual_clusters: Iterable[VirtualCluster]) -> str | None:
        """What they would guarantee beyond what there is, in numbers; nothing while no node is known."""
        nodes = [node for node in self.nodes() if node.capacity.cpu_m]
        return oversubscribed(list(virtual_clusters), nodes) if nodes else None

    def quotas(self, now: float) -> list[Quota]:
        """Every limit that is set, with the jobs that wait on it."""
        return self._report.quotas(now)

    def shares(self, now: float) -> list[ShareView]:
        return self._report.shares()

    def used(self, node: str) -> tuple[int, int, dict[int, list[str]]]:
        """The CPU and memory in use on the node, and the jobs of each device in use."""
        return self._report.used(node)

    def device_shares(self, node: str) -> dict[int, int]:
        """The used thousandths of each device that is shared."""
        return self._report.device_shares(node)

    def extended_used(self, node: str) -> dict[tuple[str, int], str]:
        """The job of each device other than a GPU, by resource and index."""
        return self._report.extended_used(node)

    def backlog(self) -> tuple[int, float, float]:
        """How many jobs wait for hardware, the GPUs that they want together, and those that the smallest wants."""
        return self._report.backlog()

    @property
    def _is_too_large_to_copy(self) -> bool:
        nodes = self.allocations.nodes.by_name
        return len(self.allocations.by_job) + len(self.queue) + len(nodes) > _LARGEST_COPY
