"""Whether a waiting job is worth a try, and whom it may preempt: the rules, where `preemption` is the search."""

from muster.scheduling.allocations.allocation import Allocation, effective_rank_of_waiting
from muster.scheduling.allocations.allocation_table import Allocations
from muster.scheduling.allocations.running_ranks import RunningRanks
from muster.scheduling.capacity.node_index import NodeIndex
from muster.scheduling.capacity.shapes import Shape
from muster.scheduling.demand import Slot
from muster.scheduling.ordering.lanes import Key, Kind, Lane, Lanes, Stack, WaitingJob
from muster.scheduling.ordering.runtime_prediction import Predictor
from muster.scheduling.ordering.vc_settings import VcSettings
from muster.scheduling.preemption.preemption_index import PreemptionIndex
from muster.scheduling.preemption.victims import Claim, Refresh, make_room

WORTH = 0.25
"""A running job is preempted for a shorter one only if it loses at most this part of the work it has left."""
GROW_LOSS_S = 60.0
"""An elastic gang is resized only if it loses at most this run time: just after a checkpoint."""


class PreemptionPolicy:
    def __init__(
        self, settings: VcSettings, allocations: Allocations, ranks: RunningRanks, predictor: Predictor
    ) -> None:
        self._settings = settings
        self._allocations = allocations
        self._ranks = ranks
        self._predictor = predictor

    def is_open(self, stack: Stack, nodes: NodeIndex, index: PreemptionIndex) -> bool:
        """Whether any lane of the stack is worth a try: slots for its shape may be free, or a job that runs has a worse
        effective rank than the first of its heads."""
        return bool(stack.order) and self._is_worth_a_try(stack.shape, stack.kind, stack.order[0], nodes, index)

    def may_start(self, lane: Lane, nodes: NodeIndex, index: PreemptionIndex) -> bool:
        """The same for one lane. Those behind it in its stack have no better rank."""
        return self._is_worth_a_try(lane.shape, lane.kind, lane.head, nodes, index)

    def is_wanted(self, allocation: Allocation, lanes: Lanes) -> bool:
        """Whether a waiting job has a better effective rank than this running one. Guaranteed slots are lost only to
        jobs of the same virtual cluster."""
        own = lanes.own_stacks.get(allocation.job.vc, {})
        stacks = lanes.stacks if allocation.guaranteed is None else own
        rank = allocation.effective_rank()
        return any(
            stack.kind is Kind.ALWAYS or _effective_rank(stack.order[0], stack.kind) < rank for stack in stacks.values()
        )

    def make_room(
        self, waiting: WaitingJob, shape: Shape, index: PreemptionIndex, now: float
    ) -> tuple[tuple[Slot, ...], list[Allocation]] | None:
        """Slots for the gang, and the jobs that it preempts for them."""
        if not self._settings.may_interrupt:
            return None
        policy = self._settings.policy_of(waiting.job.vc)
        rank = effective_rank_of_waiting(waiting.priority, waiting.rank, policy.interrupts)
        if not index.reach(shape, rank):
            return None
        refresh = self._refreshing(index, now) if policy.ranker.is_live and policy.interrupts else None
        claim = Claim(shape, rank, lambda allocation: self._is_worth_it(allocation, waiting, now), now)
        return make_room(claim, index, refresh)

    def _is_worth_a_try(self, shape: Shape, kind: Kind, head: Key, nodes: NodeIndex, index: PreemptionIndex) -> bool:
        if kind is Kind.ALWAYS or nodes.may_fit(shape):
            return True
        return self._settings.may_interrupt and index.reach(shape, _effective_rank(head, kind))

    def _is_worth_it(self, victim: Allocation, waiting: WaitingJob, now: float) -> bool:
        if victim.priority < waiting.priority:
            # a long wait alone does not justify destroying work that cannot be resumed
            return victim.is_resumable or victim.job.priority < waiting.job.priority
        if victim.is_grown:
            return victim.lost_s(now) <= GROW_LOSS_S
        lost = victim.lost_work(now)
        if not lost:
            return True
        return lost <= WORTH * self._predictor.work_left(victim.job.similarity, victim.ran_s(now) * victim.gpus)

    def _refreshing(self, index: PreemptionIndex, now: float) -> Refresh:
        by_job = self._allocations.by_job

        def refresh(node: str) -> None:
            for job_id in index.nodes.by_name[node].jobs:
                if (allocation := by_job.get(job_id)) is not None:
                    self._ranks.refresh(allocation, now)

        return refresh


def _effective_rank(head: Key, kind: Kind) -> float:
    return effective_rank_of_waiting(-head[0], head[1], kind is Kind.INTERRUPTING)
