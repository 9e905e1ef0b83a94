"""Whether a job may start, whom it may interrupt for that, and what becomes of those."""

from collections.abc import Iterable

from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import WEEK_S
from muster.scheduling import explaining
from muster.scheduling.arena import Arena
from muster.scheduling.demand import JobDemand, Preemption, Slot
from muster.scheduling.holding import Holder, standing_of_waiting
from muster.scheduling.limiting import beyond_max
from muster.scheduling.lining import Line
from muster.scheduling.preempting import Renew, Standings, Worth, make_room
from muster.scheduling.queueing import Key, Kind, Lane, Stack, Waiting
from muster.scheduling.shapes import Shape

WORTH = 0.25
"""A running job is interrupted for a shorter one only if that loses less than this part of the work it has left."""
GROW_LOSS_S = 60.0
"""An elastic gang is restarted at a larger size only if that loses less run time than this: just after a checkpoint."""


class Weighing(Line):
    def _is_open(self, stack: Stack, arena: Arena, standings: Standings) -> bool:
        """Whether any lane of it is worth a look: there may be free places for its shape, or somebody who has places
        stands behind the first of its heads."""
        return bool(stack.order) and self._is_worth_a_try(stack.shape, stack.kind, stack.order[0], arena, standings)

    def _may_start(self, lane: Lane, arena: Arena, standings: Standings) -> bool:
        """The same for one lane. Those behind it in its stack stand no better."""
        return self._is_worth_a_try(lane.shape, lane.kind, lane.head, arena, standings)

    def _is_worth_a_try(self, shape: Shape, kind: Kind, head: Key, arena: Arena, standings: Standings) -> bool:
        if kind is Kind.ALWAYS or arena.may_fit(shape):
            return True
        standing = standing_of_waiting(-head[0], head[1], kind is Kind.INTERRUPTING)
        return self._may_interrupt and standings.reach(shape, standing)

    def _forbidden(self, job: JobDemand, shape: Shape, now: float, instead_of: Shape | None = None) -> Reason | None:
        """A limit, or the largest share that its virtual cluster may have."""
        vc = self.vcs.get(job.vc)
        if vc is None:
            return None
        gpu_m, cpu_m, memory = shape.gpu_m, shape.cpu_m, shape.memory_bytes
        if instead_of is not None:
            gpu_m, cpu_m, memory = gpu_m - instead_of.gpu_m, cpu_m - instead_of.cpu_m, memory - instead_of.memory_bytes
        reason = self.accounts.over(vc, job.user, gpu_m, now)
        if reason is not None:
            if reason.numbers.get("limit") == "gpuHoursPerWeek":
                account = self.accounts.of(vc.name, str(reason.numbers["user"]))
                self._look_again(account.week[0][0] + WEEK_S if account.week else now + WEEK_S, now)
            return reason
        if vc.max is None:
            return None
        models = next((group.want.gpu_models for group in shape.groups if group.want.gpus), ())
        return beyond_max(vc, self.accounts.of(vc.name), models, gpu_m, cpu_m, memory)

    def _look_again(self, at: float, now: float) -> None:
        """One timer for all who wait for a week to pass."""
        if not now < self._looks_at <= at:
            self._looks_at = at
            self._timer(at, "look", "")

    def _may_not_borrow(self, job: JobDemand) -> Reason | None:
        vc = self.vcs.get(job.vc)
        if vc is not None and not vc.borrows:
            return explaining.only_promised(vc.name)
        if not job.preemptible and self.promises.arenas:
            return explaining.not_interruptible(job.vc)
        return None

    def _room(
        self, waiting: Waiting, shape: Shape, standings: Standings, now: float
    ) -> tuple[tuple[Slot, ...], list[Holder]] | None:
        policy = self._policy_of(waiting.job.vc)
        standing = standing_of_waiting(waiting.priority, waiting.rank, policy.interrupts)
        renew = self._renewing(standings, now) if policy.ranker.is_live and policy.interrupts else None
        return make_room(shape, standing, standings, self._worth(waiting, now), now, renew)

    def _worth(self, waiting: Waiting, now: float) -> Worth:
        def worth(holder: Holder) -> bool:
            if holder.priority < waiting.priority:
                # patience alone is no reason to destroy work that cannot be resumed
                return holder.is_resumable or holder.job.priority < waiting.job.priority
            if holder.is_grown:
                return holder.lost_s(now) <= GROW_LOSS_S
            lost = holder.lost_work(now)
            if not lost:
                return True
            return lost <= WORTH * self.predictor.work_left(holder.job.likeness, holder.ran_s(now) * holder.gpus)

        return worth

    def _renewing(self, standings: Standings, now: float) -> Renew:
        def renew(node: str) -> None:
            for job_id in standings.arena.ledgers[node].jobs:
                if (holder := self.holders.get(job_id)) is not None:
                    holder.rank = self._policy_of(holder.job.vc).ranker.rank(holder.job, holder.gpus, holder.ran_s(now))

        return renew

    def _send_all_away(self, holders: Iterable[Holder], waiting: Waiting, now: float) -> None:
        for holder in holders:
            self.arena.unseat(holder.job.job_id, holder.slots)
            self._send_away(holder, waiting, now)

    def _send_away(self, holder: Holder, waiting: Waiting, now: float) -> None:
        """Its places are another's already; it keeps its rank, so that it cannot come straight back."""
        job_id = holder.job.job_id
        self._drop(holder)
        self._settle_accounts(now)
        if holder.waited is not None:  # nobody has heard of its start yet
            self._ready.pop(job_id, None)
            self._unpromise(holder)
            self._stand_again(holder.waited)
            return
        self.leaving[job_id] = holder
        self._sent_away[job_id] = holder.rank
        is_reclaimed = holder.job.vc != waiting.job.vc
        self._preemptions.append(Preemption(job_id, explaining.makes_way(waiting.job.name, is_reclaimed)))
