"""Sharing what is left: lane by lane in the order of all, until nobody who is next fits anywhere."""

from typing import NamedTuple

from muster.scheduling import explaining
from muster.scheduling.demand import JobDemand, Preemption
from muster.scheduling.holding import Holder
from muster.scheduling.keeping import PromiseKeeper
from muster.scheduling.lining import TOP_PRIORITY
from muster.scheduling.placement import place, retake, undo
from muster.scheduling.queueing import Kind, Lane, Turns, Waiting
from muster.scheduling.ranking import Overtaking
from muster.scheduling.reserving import Reservation, reserve
from muster.scheduling.sizing import at_its_smallest, sizes_to_try
from muster.scheduling.weighing import GROW_LOSS_S

_LOOK_BEHIND = 64
"""So many behind a head are looked at for one that is gone before a reserved start."""
_EVERYBODY = "*"
"""In place of a virtual cluster: whoever has waited longest lets nobody pass, of whatever virtual cluster."""


class _Head(NamedTuple):
    """A job that lets nobody pass who wants what it lacks."""

    name: str
    lacks: str


class Sharer(PromiseKeeper):
    def _share(self, now: float) -> None:
        """Lane by lane in order, until nobody who is next fits anywhere."""
        self._standings.refresh()
        stacks = [s for s in self.queue.stacks.values() if self._is_open(s, self.arena, self._standings)]
        turns: Turns[Holder] = Turns(stacks, self._usage, lambda s: self._is_open(s, self.arena, self._standings))
        blocked: dict[str, _Head] = {}
        while isinstance(lane := turns.next(), Lane):
            waiting = self.queue.jobs[lane.head[3]]
            ahead = blocked.get(lane.vc) or blocked.get(_EVERYBODY)
            if ahead is not None and (waiting.shape.gpu_m or ahead.lacks != "gpu"):
                self.verdicts[waiting.lane] = explaining.behind(ahead.name)
            elif not self._may_start(lane, self.arena, self._standings):
                if lane.kind is not Kind.BY_USAGE or not self._is_open(lane.stacks[1], self.arena, self._standings):
                    turns.close(lane.shape, lane.kind)
            elif self._try(waiting, now):
                turns.again(lane)
            else:
                self._block(waiting, now, blocked)
                if self.reservation is not None and self.reservation.job is not waiting.job:
                    self._backfill(lane, self.reservation, now)

    def _backfill(self, lane: Lane, reservation: Reservation, now: float) -> None:
        """Behind a head that would stay too long: those that are gone before the reserved start."""
        for key in lane.keys[lane.first + 1 : lane.first + _LOOK_BEHIND]:
            waiting = self.queue.jobs[key[3]]
            if reservation.allows(waiting.job, now) is None and not self._try(waiting, now):
                return

    def _try(self, waiting: Waiting, now: float) -> bool:
        reason = self._may_not_borrow(waiting.job)
        if reason is not None:
            self.verdicts[waiting.lane] = reason
            return False
        reservation = self.reservation
        may_grow = len(self.queue) == 1
        for job in sizes_to_try(waiting.job, may_grow=may_grow):
            shape = waiting.shape if job is waiting.job else self._shapes.of(job)
            if (reason := self._forbidden(job, shape, now)) is not None:
                continue
            allowed = None if reservation is None else reservation.allows(job, now)
            slots = place(shape, self.arena, allowed)
            if slots is not None:
                if reservation is not None:
                    reservation.charge(job, slots, now)
                self.queue.remove(job.job_id)
                self._seat(job, slots, now, waiting=waiting)
                return True
        if reason is not None:  # not even the smallest is allowed
            self.verdicts[waiting.lane] = reason
            return False
        if self._may_interrupt and reservation is None:
            job = at_its_smallest(waiting.job)
            shape = waiting.shape if job is waiting.job else self._shapes.of(job)
            room = self._room(waiting, shape, self._standings, now)
            if room is not None:
                slots, leaving = room
                self.queue.remove(job.job_id)
                self._send_all_away(leaving, waiting, now)
                self._seat(job, slots, now, waiting=waiting)
                return True
        self.verdicts[waiting.lane] = None
        return False

    def _block(self, waiting: Waiting, now: float, blocked: dict[str, "_Head"]) -> None:
        """It does not start. Who has waited longest, or comes first under a strict policy, keeps others from taking
        what it waits for: by a reservation where time limits allow one, else by letting nobody pass who wants it."""
        if self.verdicts.get(waiting.lane) is not None:
            return
        overtaking = self._policy_of(waiting.job.vc).overtaking
        if overtaking is Overtaking.FREE and waiting.priority >= TOP_PRIORITY:
            overtaking = Overtaking.RESERVED
        if overtaking is Overtaking.FREE:
            return
        if overtaking is Overtaking.RESERVED and self.reservation is None and waiting.job.vc not in blocked:
            self.reservation = reserve(waiting.job, waiting.shape, self.arena, self._ends, self.holders, now)
            if self.reservation is not None:
                return
        if overtaking is Overtaking.NEVER or self.reservation is None:
            whom = _EVERYBODY if waiting.priority >= TOP_PRIORITY else waiting.job.vc
            blocked.setdefault(whom, _Head(waiting.job.name, explaining.lacks(waiting.shape, self.arena)))

    def _grow(self, now: float) -> None:
        """Nobody waits: an elastic gang whose work is safe may be restarted with more tasks."""
        for holder in list(self.holders.values()):
            if not holder.job.elastic or not self._may_leave(holder) or not holder.is_resumable:
                continue
            if holder.lost_s(now) > GROW_LOSS_S or now <= holder.since:
                continue
            undo(holder.slots, self.arena)
            sizes = sizes_to_try(holder.job, may_grow=True)
            larger = next((job for job in sizes if self._may_grow(holder, job, now)), None)
            if larger is None:
                retake(holder.slots, self.arena)
                continue
            self.arena.unseat(holder.job.job_id, holder.slots)
            self._drop(holder)
            self._settle_accounts(now)
            self.leaving[holder.job.job_id] = holder
            reason = explaining.resized(len(holder.job.tasks), len(larger.tasks))
            self._preemptions.append(Preemption(holder.job.job_id, reason))

    def _may_grow(self, holder: Holder, larger: JobDemand, now: float) -> bool:
        """Whether so many more tasks would be allowed, and there is room; its own places are given back."""
        shape = self._shapes.of(larger)
        if len(larger.tasks) <= len(holder.job.tasks) or self._forbidden(larger, shape, now, holder.shape) is not None:
            return False
        slots = place(shape, self.arena)
        undo(slots or (), self.arena)
        return slots is not None
