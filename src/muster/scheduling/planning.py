"""Events in, plans out.

A cycle lets time pass (ranks, patience), keeps what virtual clusters are promised, then shares what is left: in order
of priority and rank, whole gangs only, each either on free places, or on places of those who stand behind it, or not
at all and with a reason. When nothing has happened since the last cycle, nothing is computed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count, islice
from math import inf
from typing import NamedTuple

from muster.domain.nodes import Node, NodeState
from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import WEEK_S, Limits, OrderPolicy, Share, VirtualCluster
from muster.scheduling import explaining
from muster.scheduling.arena import Arena
from muster.scheduling.demand import JobDemand, Plan, Preemption, Slot, Start
from muster.scheduling.holding import Holder, standing_of_waiting
from muster.scheduling.ledger import NodeLedger
from muster.scheduling.limiting import Accounts, beyond_max
from muster.scheduling.placement import place, undo
from muster.scheduling.predicting import Predictor
from muster.scheduling.preempting import Renew, Standings, Worth, is_free_at, make_room, need_of, still_free
from muster.scheduling.promising import Promises, are_alike
from muster.scheduling.queueing import Key, Kind, Lane, LaneKey, Queue, Stack, Turns, Waiting
from muster.scheduling.ranking import Overtaking, Policy, policies
from muster.scheduling.reserving import Ends, Reservation, reserve
from muster.scheduling.shapes import Shape, Shapes
from muster.scheduling.sizing import sized, sizes_to_try

TOP_PRIORITY = 4
"""Above urgent: who has waited so long that everybody else stands back."""
TURN_S = 3600.0
"""For so long a job that waited long keeps the standing it has waited for."""
WORTH = 0.25
"""A running job is interrupted for a shorter one only if that loses less than this part of the work it has left."""
GROW_LOSS_S = 60.0
"""An elastic gang is restarted at a larger size only if that loses less run time than this: just after a checkpoint."""
_FEW = 64
_NO_LIMITS = Limits()
_EVERYBODY = "*"
"""In place of a virtual cluster: whoever has waited longest lets nobody pass, of whatever virtual cluster."""


class _Head(NamedTuple):
    """A job that lets nobody pass who wants what it lacks."""

    name: str
    lacks: str


class Planner:
    def __init__(self, name: str, *, may_interrupt: bool = True) -> None:
        self.name = name
        self.predictor = Predictor()
        self.vcs: dict[str, VirtualCluster] = {}
        self.arena = Arena()
        self.queue = Queue()
        self.parked: dict[str, JobDemand] = {}
        """Jobs that may not start yet: they wait for another job, or for a moment."""
        self.holders: dict[str, Holder] = {}
        self.leaving: dict[str, Holder] = {}
        """Told to leave, and still there; their places are another's already."""
        self.accounts = Accounts()
        self.promises = Promises()
        self.verdicts: dict[LaneKey, Reason | None] = {}
        """Why the head of each lane did not start in the last cycle; None: it found no places."""
        self.reservation: Reservation | None = None
        self.cycles = 0
        """How often something was computed."""
        self._may_interrupt = may_interrupt
        self._policies = policies(self.predictor, may_interrupt=may_interrupt)
        self._policy = self._policies[OrderPolicy.DEFAULT]
        self._shapes = Shapes()
        self._sent_away: dict[str, float] = {}
        """The rank at which a job was interrupted: it comes back with no better one."""
        self._ends = Ends()
        self._ready: dict[str, Start] = {}
        self._waiting_for_leavers: dict[str, Holder] = {}
        self._needs: set[int] = set()
        """GPUs on one node that anybody ever asked for."""
        self._standings = Standings(self.arena, self.holders, _physical, self._may_leave, self._needs)
        self._own_standings: dict[str, Standings] = {}
        self._are_dealt = True
        self._borrowers: dict[str, dict[int, dict[str, Holder]]] = {}
        """By virtual cluster and shape, those who have places and are not promised them."""
        self._stirred: set[str] = set()
        """Virtual clusters in which something happened since the last cycle."""
        self._unsettled: list[Holder] = []
        """They have left since the last cycle; when, only the next one is told."""
        self._timers: list[tuple[float, int, str, str]] = []
        self._stamp = count()
        self._changed = True
        self._latest = 0.0
        self._preemptions: list[Preemption] = []
        self._empty = Arena()
        self._empty_of = -1
        self._fits: dict[int, bool] = {}

    # What happened

    def node_changed(self, node: Node) -> None:
        """A node joined, or its capacity or state is another. What jobs hold there stays held."""
        before = self.arena.ledgers.get(node.name)
        if before is not None and before.node == node:
            return
        if not node.is_usable:
            self._withdraw_starts(node.name)
        ledger = NodeLedger(node)
        for holder in self.holders.values():
            for slot in holder.slots:
                if slot.node == node.name:
                    ledger.take_exactly(slot.resources, slot.devices)
                    ledger.jobs[holder.job.job_id] = 1
        self.arena.put(ledger)
        self.arena.forget_misfits()
        self._are_dealt = False
        self._changed = True

    def node_removed(self, name: str) -> None:
        self._withdraw_starts(name)
        self.arena.drop(name)
        self._are_dealt = False
        self._changed = True

    def _withdraw_starts(self, node: str) -> None:
        """Those of which nobody has heard yet: they waited for others to leave."""
        for holder in list(self.holders.values()):
            if holder.waited is not None and any(slot.node == node for slot in holder.slots):
                self._give_back(holder.job.job_id)
                self._stand_again(holder.waited)

    def queued(self, job: JobDemand) -> None:
        self.unqueued(job.job_id)
        self._changed = True
        if job.blocked is None and job.not_before is None:
            self._enter(job)
            return
        self.parked[job.job_id] = job
        if job.blocked is None and job.not_before is not None:
            self._timer(job.not_before, "due", job.job_id)

    def unqueued(self, job_id: str) -> None:
        self.parked.pop(job_id, None)
        if self.queue.remove(job_id) is not None:
            self._changed = True
        holder = self.holders.get(job_id)
        if holder is not None and holder.waited is not None:
            self._give_back(job_id)

    def moved(self, job: JobDemand) -> None:
        """It asks for something else now, or stands in another virtual cluster."""
        self.queued(job)

    def holds(self, job: JobDemand, slots: Iterable[Slot], since: float) -> None:
        """A job already has these places: told after a restart."""
        taken = tuple(slots)
        for slot in taken:
            self.arena.take_exactly(slot)
        actual = sized(job, Counter(slot.role for slot in taken)) if job.elastic else job
        self._seat(actual, taken, since)
        self.holders[job.job_id].is_grown = len(actual.tasks) > len(job.tasks)
        self._are_dealt = False

    def checkpointed(self, job_id: str, at: float) -> None:
        """The work of a running job up to now is safe."""
        holder = self.holders.get(job_id)
        if holder is not None:
            was_resumable, holder.checkpoint_at = holder.is_resumable, at
            if not was_resumable:
                self._next_rank(holder, self._policy_of(holder.job.vc), holder.ran_s(at), at)
            self._touch(holder)
            self._stirred.add(holder.job.vc)
            self._changed = True

    def released(self, job_id: str) -> None:
        """It has left its places, whether it was told to, ended, or never started."""
        self._changed = True
        leaver = self.leaving.pop(job_id, None)
        if leaver is None:
            self._give_back(job_id)
            return
        self._unpromise(leaver)
        for holder in list(self._waiting_for_leavers.values()):
            if holder.waits_for is not None and job_id in holder.waits_for:
                holder.waits_for.discard(job_id)
                self._if_free(holder)

    def learnt(self, job: JobDemand, ran_s: float) -> None:
        """A job ended by itself after so much run time: told in order to predict others like it."""
        gpus = gpus_of(job)
        foretold = None if job.predicted_s is None else job.predicted_s * gpus
        self.predictor.learn(job.likeness, ran_s * gpus, foretold)

    def charged(self, vc: str, user: str, gpu_s: float, at: float) -> None:
        """GPU time that was used before this state began: for limits and fairness."""
        self.accounts.charge(vc, user, gpu_s, at)

    def follow(self, policy: Policy) -> None:
        """Instead of the default. Told before the first job."""
        self._policy = policy
        self._policies = {**self._policies, OrderPolicy.DEFAULT: policy}

    def configured(self, virtual_clusters: Iterable[VirtualCluster]) -> None:
        """The virtual clusters are these now. Those who wait are ranked anew; those who run stay."""
        self.vcs = {vc.name: vc for vc in virtual_clusters}
        self._are_dealt = False
        self._changed = True
        for waiting in list(self.queue.jobs.values()):
            self.queue.remove(waiting.job.job_id)
            self._enter(waiting.job)

    # What follows

    def cycle(self, now: float) -> Plan:
        """Start what can start. The places of the jobs started are taken when this returns."""
        self._latest = max(self._latest, now)
        self._settle_accounts(now)
        self._pass(now)
        if not self._changed:
            return Plan(wake_at=self._wake_at())
        self._changed = False
        self.cycles += 1
        self.verdicts.clear()
        self.reservation = None
        if not self._are_dealt:
            self._deal(now)
        stirred, self._stirred = self._stirred, set()
        for vc in sorted(stirred & self.promises.arenas.keys()):
            self._keep_promise(vc, now)
        self._share(now)
        if not self.queue.jobs:
            self._grow(now)
        starts, preemptions = tuple(self._ready.values()), tuple(self._preemptions)
        for start in starts:
            self.holders[start.job_id].waited = None
        self._ready.clear()
        self._preemptions.clear()
        return Plan(starts, preemptions, now if self._changed else self._wake_at())

    def start_at_once(self, job: JobDemand, now: float) -> Start | None:
        """Places for a job that has just come, if nobody waits and there is room; they are taken when this returns."""
        if self.queue.jobs or self.leaving or self.promises.arenas or job.blocked is not None or job.elastic:
            return None
        self._settle_accounts(now)
        if job.vc in self.vcs and self._forbidden(job, self._shapes.of(job), now) is not None:
            return None
        slots = place(self._shapes.of(job), self.arena)
        if slots is None:
            return None
        self._seat(job, slots, now)
        return Start(job.job_id, slots)

    def is_planned(self, start: Start) -> bool:
        """Whether the places of this start are still the job's."""
        holder = self.holders.get(start.job_id)
        return holder is not None and holder.slots is start.slots

    def never_fits(self, job: JobDemand) -> Reason | None:
        """Could the gang run with nobody else on the cluster? Unreachable nodes count: they may come back. While a node
        has not said what it has, nothing is known to be too large."""
        if any(not ledger.node.capacity.cpu_m for ledger in self.arena.ledgers.values()):
            return None
        if self._empty_of != self.arena.nodes_version:
            self._empty, self._empty_of = Arena(), self.arena.nodes_version
            for ledger in self.arena.ledgers.values():
                self._empty.put(NodeLedger(replace(ledger.node, state=NodeState.READY)))
            self._fits.clear()
        smallest = list(sizes_to_try(job, may_grow=False))[-1]
        shape = self._shapes.of(smallest)
        if shape.number not in self._fits:
            slots = place(shape, self._empty)
            self._fits[shape.number] = slots is not None
            undo(slots or (), self._empty)
        return None if self._fits[shape.number] else explaining.never(smallest, shape, self._empty)

    @property
    def waiting(self) -> int:
        return len(self.queue) + len(self.parked) + len(self._waiting_for_leavers)

    # Time

    def _pass(self, now: float) -> None:
        """Whatever was to happen by now: jobs become due, patience runs out, ranks of running jobs change."""
        timers = self._timers
        while timers and timers[0][0] <= now:
            at, _, what, job_id = heappop(timers)
            if what == "due":
                self._become_due(job_id, now)
            elif what == "patience":
                self._lose_patience(job_id, at)
            elif what == "rank":
                self._rank_anew(job_id, at)
            elif what == "turn":
                self._end_turn(job_id, at)
            else:
                self._stirred.update(self.vcs)
                self._changed = True

    def _timer(self, at: float, what: str, job_id: str) -> None:
        heappush(self._timers, (at, next(self._stamp), what, job_id))

    def _wake_at(self) -> float | None:
        return self._timers[0][0] if self._timers else None

    def _become_due(self, job_id: str, now: float) -> None:
        job = self.parked.get(job_id)
        if job is not None and job.blocked is None and job.not_before is not None and job.not_before <= now:
            del self.parked[job_id]
            self._enter(job)
            self._changed = True

    def _lose_patience(self, job_id: str, at: float) -> None:
        waiting = self.queue.jobs.get(job_id)
        if waiting is None or waiting.priority >= TOP_PRIORITY:
            return
        policy = self._policy_of(waiting.job.vc)
        patience_s = self._patience_s(waiting.job, policy)
        due = waiting.since + patience_s * (waiting.priority + 1 - waiting.job.priority)
        if due > at + 1e-3:  # a timer of an earlier wait, or such jobs turned out to run longer
            self._timer(due, "patience", job_id)
            return
        self.queue.remove(job_id)
        is_last = waiting.priority + 1 == TOP_PRIORITY  # from there on rank is nothing, and the longest wait is next
        self._stand(waiting.job, waiting.since, waiting.priority + 1, 0.0 if is_last else waiting.rank)
        self._changed = True

    def _rank_anew(self, job_id: str, at: float) -> None:
        holder = self.holders.get(job_id)
        if holder is None or holder.rank_at > at:
            return
        policy = self._policy_of(holder.job.vc)
        ran_s = holder.ran_s(at)
        rank = policy.ranker.rank(holder.job, holder.gpus, ran_s)
        if rank != holder.rank:
            holder.rank = rank
            self._touch(holder)
            if self.queue.jobs:
                self._stirred.add(holder.job.vc)
                self._changed = True
        self._next_rank(holder, policy, ran_s, at)

    def _next_rank(self, holder: Holder, policy: Policy, ran_s: float, now: float) -> None:
        if policy.interrupts and holder.is_resumable:
            change = policy.ranker.changes_in(holder.job, holder.gpus, ran_s)
            if change is not None:
                holder.rank_at = now + change
                self._timer(holder.rank_at, "rank", holder.job.job_id)

    def _end_turn(self, job_id: str, at: float) -> None:
        holder = self.holders.get(job_id)
        if holder is not None and holder.protected_until <= at:
            holder.priority = holder.job.priority
            ranker = self._policy_of(holder.job.vc).ranker
            holder.rank = ranker.rank(holder.job, holder.gpus, holder.ran_s(at))
            self._touch(holder)
            self._stirred.add(holder.job.vc)
            self._changed = True

    # The queue

    def _enter(self, job: JobDemand) -> None:
        policy = self._policy_of(job.vc)
        gpus = gpus_of(job)
        rank = max(policy.ranker.rank(job, gpus, job.ran_s), self._sent_away.pop(job.job_id, -inf))
        since = job.created_at if job.waiting_since is None else job.waiting_since
        self._stand(job, since, job.priority, rank)

    def _stand(self, job: JobDemand, since: float, priority: int, rank: float) -> None:
        policy = self._policy_of(job.vc)
        self._stirred.add(job.vc)
        shape = self._shapes.of(job)
        self._needs.add(need_of(shape))
        key = (-priority, rank, job.created_at if priority < TOP_PRIORITY else since, job.job_id)
        waiting = Waiting(job, shape, gpus_of(job), since, priority, rank, key, ("", 0, "", 0), self.cycles)
        vc = self.vcs.get(job.vc)
        has_own_lane = policy.by_usage or (vc is not None and vc.user_limits != _NO_LIMITS)
        kind = _kind(policy, is_special=priority >= TOP_PRIORITY or bool(job.elastic))
        self.queue.add(waiting, job.user if has_own_lane else "", kind)
        if policy.patience_s < inf and priority < TOP_PRIORITY:
            self._timer(since + self._patience_s(job, policy) * (priority + 1 - job.priority), "patience", job.job_id)

    def _patience_s(self, job: JobDemand, policy: Policy) -> float:
        return policy.patience_s + policy.patience_runs * self.predictor.run_time(job.likeness, gpus_of(job))

    def _stand_again(self, waiting: Waiting) -> None:
        """As before; the next cycle looks at it anew."""
        self._stand(waiting.job, waiting.since, waiting.priority, waiting.rank)
        self._changed = True

    def _policy_of(self, vc: str) -> Policy:
        found = self.vcs.get(vc)
        return self._policy if found is None else self._policies[found.policy]

    def _usage(self, lane: Lane) -> float:
        return self.accounts.of(lane.vc, lane.user).usage(self._latest)

    # What is promised

    def _deal(self, now: float) -> None:
        """Anew, after a change of nodes or settings: those who run are promised first where they stand."""
        self._are_dealt = True
        self.promises.deal(self.vcs.values(), [ledger.node for ledger in self.arena.ledgers.values()])
        self._own_standings = {
            vc: Standings(arena, self.holders, _promised, self._may_lose_promise, self._needs)
            for vc, arena in self.promises.arenas.items()
        }
        self._stirred.update(self.vcs)
        self._borrowers.clear()
        for holder in sorted(self.holders.values(), key=_order):
            holder.promised = None
            if holder.job.vc in self.promises.arenas and not self._promise_where_it_stands(holder):
                self._borrows(holder)

    def _keep_promise(self, vc: str, now: float) -> None:
        """In the order of the virtual cluster, as if it were alone: its waiting jobs, and those that borrow so far."""
        arena = self.promises.arenas[vc]
        standings = self._own_standings[vc]
        standings.refresh()
        stacks = [s for s in self.queue.own_stacks.get(vc, {}).values() if self._is_open(s, arena, standings)]
        turns: Turns[Holder] = Turns(stacks, self._usage)
        is_strict = self._policy_of(vc).overtaking is Overtaking.NEVER
        for alike in self._borrowers.get(vc, {}).values():
            if alike and (is_strict or arena.may_fit(next(iter(alike.values())).shape)):
                for holder in alike.values():
                    if is_strict or holder.waits_for is None:
                        turns.offer(_order(holder), holder)
        if is_strict:  # whoever had to leave comes back, and before those behind it
            for leaver in self.leaving.values():
                if leaver.job.vc == vc and leaver.promised is None:
                    turns.offer(_order(leaver), leaver)
        while (entry := turns.next()) is not None:
            if isinstance(entry, Holder):
                is_here = self.holders.get(entry.job.job_id) is entry
                is_kept = is_here and arena.may_fit(entry.shape) and self._promise(entry)
            elif not is_strict and not self._may_start(entry, arena, standings):
                if entry.kind is not Kind.BY_USAGE or not self._is_open(entry.stacks[0], arena, standings):
                    turns.close(entry.shape, entry.kind)
                continue
            else:
                waiting = self.queue.jobs[entry.head[3]]
                is_kept = self._start_promised(waiting, arena, now)
                if is_kept:
                    turns.again(entry)
                elif waiting.priority >= TOP_PRIORITY and self._may_hold_back(waiting, arena):
                    return
            if is_strict and not is_kept:
                return

    def _may_hold_back(self, waiting: Waiting, arena: Arena) -> bool:
        """Whether all that is promised should be kept for it: it would fit there, and nothing forbids it."""
        most = 1000 * sum(len(ledger.models) for ledger in arena.usable())
        return self.verdicts.get(waiting.lane) is None and waiting.shape.gpu_m <= most

    def _borrows(self, holder: Holder) -> None:
        holder.promised = None
        if holder.job.vc in self.promises.arenas:
            of_vc = self._borrowers.setdefault(holder.job.vc, {})
            of_vc.setdefault(holder.shape.number, {})[holder.job.job_id] = holder

    def _is_promised(self, holder: Holder, promised: tuple[Slot, ...]) -> None:
        """The capacity is taken in what its virtual cluster is promised; now it is the holder's."""
        holder.promised = promised
        self.promises.arenas[holder.job.vc].seat(holder.job.job_id, promised)
        self._borrows_no_more(holder)
        self._touch(holder)

    def _borrows_no_more(self, holder: Holder) -> None:
        self._borrowers.get(holder.job.vc, {}).get(holder.shape.number, {}).pop(holder.job.job_id, None)

    def _start_promised(self, waiting: Waiting, arena: Arena, now: float) -> bool:
        """Places among those that are promised, and physically: free ones, else those that others borrow."""
        for job in sizes_to_try(waiting.job, may_grow=len(self.queue) == 1):
            shape = waiting.shape if job is waiting.job else self._shapes.of(job)
            if (reason := self._forbidden(job, shape, now)) is not None:
                self.verdicts[waiting.lane] = reason
                continue
            promised = place(shape, arena) or self._repacked(shape, arena, job.vc)
            losers: list[Holder] = []
            if promised is None and self._may_interrupt:
                room = self._room(waiting, shape, self._own_standings[waiting.job.vc], now)
                if room is not None:
                    promised, losers = room
            if promised is not None:
                for holder in losers:
                    arena.unseat(holder.job.job_id, holder.promised or ())
                    self._borrows(holder)
                    self._touch(holder)
                return self._take_promised(waiting, job, shape, promised, now)
        return False

    def _repacked(self, shape: Shape, arena: Arena, vc: str) -> tuple[Slot, ...] | None:
        """Whoever stands elsewhere does not care where its promise lies: it may lie where it leaves room for this gang,
        as it would in a private cluster that was packed well."""
        if arena.free_gpu_m < shape.gpu_m or not shape.gpu_m:
            return None
        strays = [h for h in self.holders.values() if h.job.vc == vc and h.promised not in (None, h.slots)]
        if not strays:
            return None
        before = [holder.promised or () for holder in strays]
        for promised in before:
            undo(promised, arena)
        slots = place(shape, arena)
        after = self._all_placed(strays, arena) if slots is not None else None
        if after is None:
            undo(slots or (), arena)
            for slot in (slot for promised in before for slot in promised):
                arena.take_exactly(slot)
            return None
        for holder, old, new in zip(strays, before, after, strict=True):
            arena.unseat(holder.job.job_id, old)
            arena.seat(holder.job.job_id, new)
            holder.promised = new
        return slots

    def _all_placed(self, holders: list[Holder], arena: Arena) -> list[tuple[Slot, ...]] | None:
        """Places for each of them, the largest first; or none for anybody."""
        found: dict[str, tuple[Slot, ...]] = {}
        for holder in sorted(holders, key=lambda holder: -holder.gpus):
            slots = place(holder.shape, arena)
            if slots is None:
                for taken in found.values():
                    undo(taken, arena)
                return None
            found[holder.job.job_id] = slots
        return [found[holder.job.job_id] for holder in holders]

    def _take_promised(
        self, waiting: Waiting, job: JobDemand, shape: Shape, promised: tuple[Slot, ...], now: float
    ) -> bool:
        arena = self.promises.arenas[job.vc]
        if not still_free(promised, self.arena):
            promised = self._exchanged(shape, arena, promised) or promised
        slots = promised
        if still_free(promised, self.arena):
            for slot in promised:
                self.arena.take_exactly(slot)
        elif not job.preemptible:  # it must stand on what is promised to it, for it cannot be moved there later
            if not self._clear(promised, waiting, now):
                undo(promised, arena)
                return False
        elif (elsewhere := place(shape, self.arena)) is not None:
            slots = elsewhere
            promised = self._moved_promise(promised, slots, arena)
        elif (left := self._reclaim(shape, waiting, now)) is not None:
            slots = left
            promised = self._moved_promise(promised, slots, arena)
        elif not self._clear(promised, waiting, now):
            undo(promised, arena)
            return False
        self.queue.remove(job.job_id)
        self._seat(job, slots, now, waiting=waiting, promised=promised)
        return True

    def _exchanged(self, shape: Shape, arena: Arena, promised: tuple[Slot, ...]) -> tuple[Slot, ...] | None:
        """On one node: let a cell that nobody stands in move to a node where its places are free."""
        node = promised[0].node
        if any(slot.node != node for slot in promised):
            return None
        want = shape.whole or shape.groups[0].want
        undo(promised, arena)
        found: tuple[Slot, ...] | None = None
        if self.promises.are_empty_on(node):
            home = self.arena.ledgers[node].node
            other = next(
                (
                    ledger.node
                    for ledger in islice(self.arena.fitting(want), _FEW)
                    if are_alike(ledger.node, home) and self.promises.are_empty_on(ledger.name)
                ),
                None,
            )
            if other is not None:
                self.promises.exchange(home, other)
                found = place(shape, arena, lambda one, _: one.name == other.name)
                if found is None:
                    self.promises.exchange(home, other)
        if found is None:
            for slot in promised:
                arena.take_exactly(slot)
        return found

    def _moved_promise(self, promised: tuple[Slot, ...], slots: tuple[Slot, ...], arena: Arena) -> tuple[Slot, ...]:
        """The promise where the job stands, so that it need not move later; but only if that leaves the others of its
        virtual cluster holes as large as they would find alone."""
        undo(promised, arena)
        best = slots if still_free(slots, arena) and _holes(slots, arena) == _holes(promised, arena) else promised
        for slot in best:
            arena.take_exactly(slot)
        return best

    def _reclaim(self, shape: Shape, waiting: Waiting, now: float) -> tuple[Slot, ...] | None:
        """Of all who borrow, wherever they stand, those leave who lose least."""
        room = make_room(shape, -inf, self._standings, lambda holder: True, now)
        if room is None:
            return None
        slots, leaving = room
        self._send_all_away(leaving, waiting, now)
        return slots

    def _clear(self, promised: tuple[Slot, ...], waiting: Waiting, now: float) -> bool:
        """Whoever stands on these places leaves, even one that is promised others: none of them was promised to
        anybody else. The last resort, where what is borrowed lies scattered."""
        gone: dict[str, Holder] = {}
        for slot in promised:
            for holder in self._in_the_way(slot, now):
                gone[holder.job.job_id] = holder
                undo(holder.slots, self.arena)
                self.arena.unseat(holder.job.job_id, holder.slots)
            if not is_free_at(slot, self.arena):
                break
            self.arena.take_exactly(slot)
        else:
            for holder in gone.values():
                self._send_away(holder, waiting, now)
            return True
        undo(promised[: promised.index(slot)], self.arena)
        for holder in gone.values():
            for one in holder.slots:
                self.arena.take_exactly(one)
            self.arena.seat(holder.job.job_id, holder.slots)
        return False

    def _in_the_way(self, slot: Slot, now: float) -> list[Holder]:
        """Those who have its devices; then, for CPU and memory, those of the node who lose least."""
        ledger = self.arena.ledgers[slot.node]
        here = [self.holders[job_id] for job_id in ledger.jobs if job_id in self.holders]
        movable = [one for one in here if one.job.preemptible and _stands_elsewhere(one, slot.node)]
        wanted = set(slot.devices)
        found = [
            one
            for one in movable
            if any(s.node == slot.node and wanted.intersection(s.devices) for s in one.slots)
            and (slot.resources.gpu_share == 1000 or any(ledger.room_on(d) < slot.resources.gpu_share for d in wanted))
        ]
        cpu_m = ledger.cpu_m + sum(s.resources.cpu_m for one in found for s in one.slots if s.node == slot.node)
        memory = ledger.memory_bytes + sum(
            s.resources.memory_bytes for one in found for s in one.slots if s.node == slot.node
        )
        for one in sorted(movable, key=lambda one: (one.lost_work(now), one.job.job_id)):
            if cpu_m >= slot.resources.cpu_m and memory >= slot.resources.memory_bytes:
                break
            if one not in found:
                found.append(one)
                cpu_m += sum(s.resources.cpu_m for s in one.slots if s.node == slot.node)
                memory += sum(s.resources.memory_bytes for s in one.slots if s.node == slot.node)
        return found

    def _promise(self, holder: Holder) -> bool:
        """A borrower for whom there is room by now in what is promised: where it stands, if that can be."""
        if self._promise_where_it_stands(holder):
            return True
        arena = self.promises.arenas[holder.job.vc]
        promised = place(holder.shape, arena)
        if promised is None:
            return False
        if self._exchange_homes(holder, promised) and self._promise_where_it_stands(holder):
            return True
        promised = place(holder.shape, arena)
        if promised is None:
            return False
        self._is_promised(holder, promised)
        return True

    def _exchange_homes(self, holder: Holder, promised: tuple[Slot, ...]) -> bool:
        """On one node: let the cell that it was found move to where it stands. The cell is given back in any case."""
        undo(promised, self.promises.arenas[holder.job.vc])
        stands, home = holder.slots[0].node, promised[0].node
        if stands == home or any(slot.node != stands for slot in holder.slots):
            return False
        if any(slot.node != home for slot in promised):
            return False
        here, there = self.arena.ledgers.get(stands), self.arena.ledgers[home]
        if here is None or not are_alike(here.node, there.node):
            return False
        if not (self.promises.are_empty_on(stands) and self.promises.are_empty_on(home)):
            return False
        self.promises.exchange(here.node, there.node)
        return True

    def _promise_where_it_stands(self, holder: Holder) -> bool:
        arena = self.promises.arenas[holder.job.vc]
        if not still_free(holder.slots, arena):
            return False
        for slot in holder.slots:
            arena.take_exactly(slot)
        self._is_promised(holder, holder.slots)
        return True

    def _unpromise(self, holder: Holder) -> None:
        arena = self.promises.arenas.get(holder.job.vc)
        if holder.promised is not None and arena is not None:
            arena.unseat(holder.job.job_id, holder.promised)
            undo(holder.promised, arena)
            self._stirred.add(holder.job.vc)
        holder.promised = None

    def _may_lose_promise(self, holder: Holder) -> bool:
        return holder.job.preemptible and holder.waits_for is None and holder.promised is not None

    # What is left

    def _share(self, now: float) -> None:
        """Lane by lane in order, until nobody who is next fits anywhere."""
        self._standings.refresh()
        stacks = [s for s in self.queue.stacks.values() if self._is_open(s, self.arena, self._standings)]
        turns: Turns[Holder] = Turns(stacks, self._usage)
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
        for key in lane.keys[lane.first + 1 : lane.first + _FEW]:
            waiting = self.queue.jobs[key[3]]
            if reservation.allows(waiting.job, now) is None and not self._try(waiting, now):
                return

    def _is_open(self, stack: Stack, arena: Arena, standings: Standings) -> bool:
        """Whether any lane of it is worth a look: there may be free places for its shape, or somebody who has places
        stands behind the first of its heads."""
        if stack.kind is Kind.ALWAYS or arena.may_fit(stack.shape):
            return True
        if not self._may_interrupt or not stack.order:
            return False
        return standings.reach(stack.shape, _standing(stack.order[0], stack.kind))

    def _may_start(self, lane: Lane, arena: Arena, standings: Standings) -> bool:
        """The same for one lane. Those behind it in its stack stand no better."""
        if lane.kind is Kind.ALWAYS or arena.may_fit(lane.shape):
            return True
        return self._may_interrupt and standings.reach(lane.shape, _standing(lane.head, lane.kind))

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
            room = self._room(waiting, self._smallest(waiting), self._standings, now)
            if room is not None:
                slots, leaving = room
                job = list(sizes_to_try(waiting.job, may_grow=False))[-1]
                self.queue.remove(job.job_id)
                self._send_all_away(leaving, waiting, now)
                self._seat(job, slots, now, waiting=waiting)
                return True
        self.verdicts[waiting.lane] = None
        return False

    def _smallest(self, waiting: Waiting) -> Shape:
        if not waiting.job.elastic:
            return waiting.shape
        return self._shapes.of(list(sizes_to_try(waiting.job, may_grow=False))[-1])

    def _room(
        self, waiting: Waiting, shape: Shape, standings: Standings, now: float
    ) -> tuple[tuple[Slot, ...], list[Holder]] | None:
        policy = self._policy_of(waiting.job.vc)
        standing = standing_of_waiting(waiting.priority, waiting.rank, policy.interrupts)
        renew = self._renewing(standings, now) if policy.ranker.is_live and policy.interrupts else None
        return make_room(shape, standing, standings, self._worth(waiting, now), now, renew)

    def _forbidden(self, job: JobDemand, shape: Shape, now: float, instead_of: Shape | None = None) -> Reason | None:
        """A limit, or the largest share that its virtual cluster may have."""
        vc = self.vcs.get(job.vc)
        if vc is None:
            return None
        gpu_m = shape.gpu_m - (0 if instead_of is None else instead_of.gpu_m)
        reason = self.accounts.over(vc, job.user, gpu_m, now)
        if reason is not None:
            if reason.numbers.get("limit") == "gpuHoursPerWeek":
                account = self.accounts.of(vc.name, str(reason.numbers["user"]))
                self._timer(account.week[0][0] + WEEK_S if account.week else now + WEEK_S, "look", "")
            return reason
        if vc.max is None:
            return None
        models = next((group.want.gpu_models for group in shape.groups if group.want.gpus), ())
        cpu_m = sum(group.want.cpu_m * len(group.members) for group in shape.groups)
        return beyond_max(vc, self.accounts.of(vc.name), models, gpu_m, cpu_m)

    def _may_not_borrow(self, job: JobDemand) -> Reason | None:
        vc = self.vcs.get(job.vc)
        if vc is not None and not vc.borrows:
            return explaining.only_promised(vc.name)
        if not job.preemptible and self.promises.arenas:
            return explaining.not_interruptible(job.vc)
        return None

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

    def _may_leave(self, holder: Holder) -> bool:
        return holder.job.preemptible and holder.waits_for is None and holder.promised is None

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
                for slot in holder.slots:
                    self.arena.take_exactly(slot)
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

    # Places

    def _seat(
        self,
        job: JobDemand,
        slots: tuple[Slot, ...],
        since: float,
        *,
        waiting: Waiting | None = None,
        promised: tuple[Slot, ...] | None = None,
    ) -> None:
        """The capacity is taken; now the job has it."""
        policy = self._policy_of(job.vc)
        is_as_asked = waiting is not None and job is waiting.job
        gpus = waiting.gpus if waiting is not None and is_as_asked else gpus_of(job)
        shape = waiting.shape if waiting is not None and is_as_asked else self._shapes.of(job)
        priority = job.priority if waiting is None else waiting.priority
        rank = policy.ranker.rank(job, gpus, job.ran_s) if waiting is None else waiting.rank
        holder = Holder(job, shape, gpus, slots, since, priority, use_of(slots, self.arena), rank)
        holder.waited = waiting
        holder.is_grown = waiting is not None and len(job.tasks) > len(waiting.job.tasks)
        self.holders[job.job_id] = holder
        self.arena.seat(job.job_id, slots)
        self.accounts.take(holder, since)
        if promised is not None:
            self._is_promised(holder, promised)
        else:
            self._borrows(holder)
        self._ends.add(holder)
        self._next_rank(holder, policy, job.ran_s, since)
        if priority > job.priority:
            holder.protected_until = since + TURN_S
            self._timer(holder.protected_until, "turn", job.job_id)
        if waiting is not None:
            holder.waits_for = self._still_there(holder) if self.leaving else set()
            self._waiting_for_leavers[job.job_id] = holder
            self._if_free(holder)

    def _still_there(self, holder: Holder) -> set[str]:
        """Those who are leaving and still have a device, CPU or memory that this job was given."""
        nodes = {slot.node for slot in holder.slots}
        devices = {(slot.node, device) for slot in holder.slots for device in slot.devices}
        left = [(job_id, s) for job_id, leaver in self.leaving.items() for s in leaver.slots if s.node in nodes]
        tight = set()
        for node in nodes:
            ledger = self.arena.ledgers[node]
            cpu_m = sum(slot.resources.cpu_m for _, slot in left if slot.node == node)
            memory = sum(slot.resources.memory_bytes for _, slot in left if slot.node == node)
            if ledger.cpu_m < cpu_m or ledger.memory_bytes < memory:
                tight.add(node)
        return {
            job_id
            for job_id, slot in left
            if slot.node in tight or any((slot.node, device) in devices for device in slot.devices)
        }

    def _if_free(self, holder: Holder) -> None:
        if not holder.waits_for:
            holder.waits_for = None
            del self._waiting_for_leavers[holder.job.job_id]
            self._touch(holder)
            self._ready[holder.job.job_id] = Start(holder.job.job_id, holder.slots)

    def _give_back(self, job_id: str) -> None:
        holder = self.holders.get(job_id)
        if holder is None:
            return
        self.arena.unseat(job_id, holder.slots)
        undo(holder.slots, self.arena)
        self._drop(holder)
        self._unpromise(holder)
        self._ready.pop(job_id, None)
        self._changed = True

    def _drop(self, holder: Holder) -> None:
        """Out of the books; its places have been given back."""
        job_id = holder.job.job_id
        del self.holders[job_id]
        self._stirred.add(holder.job.vc)
        self._borrows_no_more(holder)
        self._waiting_for_leavers.pop(job_id, None)
        self._unsettled.append(holder)
        self._ends.remove(job_id)

    def _settle_accounts(self, now: float) -> None:
        for holder in self._unsettled:
            self.accounts.leave(holder, max(holder.since, now))
        self._unsettled.clear()

    def _touch(self, holder: Holder) -> None:
        for slot in holder.slots:
            self.arena.touched.add(slot.node)
        arena = self.promises.arenas.get(holder.job.vc)
        if arena is not None and holder.promised is not None:
            for slot in holder.promised:
                arena.touched.add(slot.node)


def gpus_of(job: JobDemand) -> float:
    """What service is counted by: a job without GPUs counts as one."""
    return sum(task.resources.gpu_m for task in job.tasks) / 1000 or 1.0


def use_of(slots: Iterable[Slot], arena: Arena) -> Share:
    gpus: dict[str, int] = {}
    cpu_m = memory = 0
    for slot in slots:
        cpu_m += slot.resources.cpu_m
        memory += slot.resources.memory_bytes
        ledger = arena.ledgers.get(slot.node)
        for device in slot.devices:
            model = ledger.models.get(device, "") if ledger is not None else ""
            gpus[model] = gpus.get(model, 0) + 1
    return Share(gpus, cpu_m, memory)


def _kind(policy: Policy, *, is_special: bool) -> Kind:
    if is_special or policy.overtaking is not Overtaking.FREE:
        return Kind.ALWAYS
    if policy.by_usage:
        return Kind.BY_USAGE
    return Kind.INTERRUPTING if policy.interrupts else Kind.PATIENT


def _standing(head: Key, kind: Kind) -> float:
    return standing_of_waiting(-head[0], head[1], kind is Kind.INTERRUPTING)


def _physical(holder: Holder) -> tuple[Slot, ...]:
    return holder.slots


def _promised(holder: Holder) -> tuple[Slot, ...]:
    return holder.promised or ()


def _holes(slots: Iterable[Slot], arena: Arena) -> list[int]:
    return sorted(arena.ledgers[node].all_gpus() for node in {slot.node for slot in slots})


def _stands_elsewhere(holder: Holder, node: str) -> bool:
    """It borrows on this node, even if it is promised other devices of it, or another node."""
    promised = [slot for slot in holder.promised or () if slot.node == node]
    own = {device for slot in promised for device in slot.devices}
    return not promised or not all(own.issuperset(slot.devices) for slot in holder.slots if slot.node == node)


def _order(holder: Holder) -> tuple[float, float, float, str]:
    return -holder.priority, holder.rank, holder.job.created_at, holder.job.job_id
