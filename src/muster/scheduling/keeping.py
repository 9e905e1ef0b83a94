"""Keeping what virtual clusters are promised: each is served in its own order, as if it were alone."""

from collections.abc import Iterable, Mapping
from itertools import islice
from math import inf

from muster.scheduling.arena import Arena
from muster.scheduling.books import order_of, promised_to
from muster.scheduling.demand import JobDemand, Slot
from muster.scheduling.holding import Holder
from muster.scheduling.lining import TOP_PRIORITY
from muster.scheduling.placement import place, retake, undo
from muster.scheduling.preempting import Standings, is_free_at, make_room, still_free
from muster.scheduling.promising import are_alike
from muster.scheduling.queueing import Kind, Turns, Waiting
from muster.scheduling.ranking import Overtaking
from muster.scheduling.shapes import Shape
from muster.scheduling.sizing import sizes_to_try
from muster.scheduling.weighing import Weighing

_FEW = 64


class PromiseKeeper(Weighing):
    def _deal(self, now: float) -> None:
        """Anew, after a change of nodes or settings: those who run are promised first where they stand."""
        self._are_dealt = True
        self.promises.deal(self.vcs.values(), [ledger.node for ledger in self.arena.ledgers.values()])
        self._own_standings = {
            vc: Standings(arena, self.holders, promised_to, self._may_lose_promise, self._needs)
            for vc, arena in self.promises.arenas.items()
        }
        self._stirred.update(self.vcs)
        self._borrowers.clear()
        for holder in sorted(self.holders.values(), key=order_of):
            holder.promised = None
            if holder.job.vc in self.promises.arenas and not self._promise_where_it_stands(holder):
                self._borrows(holder)

    def _keep_promise(self, vc: str, now: float) -> None:
        """In the order of the virtual cluster, as if it were alone: its waiting jobs, and those that borrow so far."""
        arena = self.promises.arenas[vc]
        standings = self._own_standings[vc]
        standings.refresh()
        stacks = [s for s in self.queue.own_stacks.get(vc, {}).values() if self._is_open(s, arena, standings)]
        turns: Turns[Holder] = Turns(stacks, self._usage, lambda s: self._is_open(s, arena, standings))
        is_strict = self._policy_of(vc).overtaking is Overtaking.NEVER
        for alike in self._borrowers.get(vc, {}).values():
            self._offer_borrowers(turns, alike, arena, is_strict=is_strict)
        if is_strict:  # whoever had to leave comes back, and before those behind it
            for leaver in self.leaving.values():
                if leaver.job.vc == vc and leaver.promised is None:
                    turns.offer(order_of(leaver), leaver)
        while (entry := turns.next()) is not None:
            if isinstance(entry, Holder):
                is_here = self.holders.get(entry.job.job_id) is entry
                is_kept = is_here and arena.may_fit(entry.shape) and self._promise(entry)
                if is_kept and not is_strict:
                    self._offer_borrowers(turns, self._borrowers[vc][entry.shape.number], arena)
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

    def _offer_borrowers(
        self, turns: Turns[Holder], alike: Mapping[str, Holder], arena: Arena, *, is_strict: bool = False
    ) -> None:
        """The first of a shape, for when it finds no room the others do not either; under a strict order all."""
        if is_strict:
            for holder in alike.values():
                turns.offer(order_of(holder), holder)
            return
        if not alike or not arena.may_fit(next(iter(alike.values())).shape):
            return
        first = min((holder for holder in alike.values() if holder.waits_for is None), key=order_of, default=None)
        if first is not None:
            turns.offer(order_of(first), first)

    def _may_hold_back(self, waiting: Waiting, arena: Arena) -> bool:
        """Whether all that is promised should be kept for it: it would fit there, and nothing forbids it."""
        most = 1000 * sum(len(ledger.models) for ledger in arena.usable())
        return self.verdicts.get(waiting.lane) is None and waiting.shape.gpu_m <= most

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
            for promised in before:
                retake(promised, arena)
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
            retake(promised, self.arena)
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
            retake(promised, arena)
        return found

    def _moved_promise(self, promised: tuple[Slot, ...], slots: tuple[Slot, ...], arena: Arena) -> tuple[Slot, ...]:
        """The promise where the job stands, so that it need not move later; but only if that leaves the others of its
        virtual cluster holes as large as they would find alone."""
        undo(promised, arena)
        best = slots if still_free(slots, arena) and _holes(slots, arena) == _holes(promised, arena) else promised
        retake(best, arena)
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
            retake(holder.slots, self.arena)
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
        retake(holder.slots, arena)
        self._is_promised(holder, holder.slots)
        return True


def _holes(slots: Iterable[Slot], arena: Arena) -> list[int]:
    return sorted(arena.ledgers[node].all_gpus() for node in {slot.node for slot in slots})


def _stands_elsewhere(holder: Holder, node: str) -> bool:
    """It borrows on this node, even if it is promised other devices of it, or another node."""
    promised = [slot for slot in holder.promised or () if slot.node == node]
    own = {device for slot in promised for device in slot.devices}
    return not promised or not all(own.issuperset(slot.devices) for slot in holder.slots if slot.node == node)
