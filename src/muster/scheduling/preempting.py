"""Which running gangs would have to leave for a waiting one. Only those who stand behind it, whole gangs only, and of
all choices the one that loses least work."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf

from muster.domain.resources import Resources
from muster.scheduling.arena import Arena
from muster.scheduling.demand import Slot
from muster.scheduling.holding import Holder
from muster.scheduling.ledger import NodeLedger
from muster.scheduling.placement import place, retake, undo
from muster.scheduling.shapes import Shape

_CANDIDATES = 24
"""So many nodes are weighed against each other."""
_FREE_CANDIDATES = 8
"""Where nothing is lost, those who stand farthest behind go, and few need be compared."""

Worth = Callable[[Holder], bool]
Places = Callable[[Holder], tuple[Slot, ...]]
"""A holder's places in the arena in question."""
Renew = Callable[[str], None]
"""Brings the ranks of a node's holders up to now, where they sink while a job runs."""


class Standings:
    """For every node and number of GPUs: how far behind one must go to have them all. Kept per node, refreshed only for
    nodes that changed, and read from the far end."""

    def __init__(
        self,
        arena: Arena,
        holders: Mapping[str, Holder],
        places: Places,
        may_leave: Callable[[Holder], bool],
        needs: Collection[int],
    ) -> None:
        self.arena = arena
        self._ever = needs
        self.holders = holders
        self.places = places
        self.may_leave = may_leave
        self._needs: dict[int, list[tuple[float, str]]] = {}
        self._of_node: dict[str, dict[int, float]] = {}

    def refresh(self) -> None:
        for name in self.arena.touched:
            self.look_at(name)
        self.arena.touched.clear()

    def farthest(self, need: int) -> list[tuple[float, str]]:
        """Nodes by how far behind one must go for so many GPUs, the farthest last."""
        if need not in self._needs:
            self._begin({need, *self._ever} - self._needs.keys())
        return self._needs[need]

    def _begin(self, needs: set[int]) -> None:
        """All that anybody may ask for, in one go."""
        for need in needs:
            self._needs[need] = []
        for name, ledger in self.arena.ledgers.items():
            if ledger.node.is_usable and (found := self._thresholds(ledger, needs)):
                self._of_node.setdefault(name, {}).update(found)
                for need, threshold in found.items():
                    self._needs[need].append((threshold, name))
        for need in needs:
            self._needs[need].sort()

    def reach(self, shape: Shape, standing: float) -> bool:
        """Whether anybody who is in the way stands behind that."""
        known = self.farthest(need_of(shape))
        return bool(known) and known[-1][0] > standing

    def look_at(self, name: str) -> None:
        """A node that is another than before."""
        old = self._of_node.pop(name, {})
        ledger = self.arena.ledgers.get(name)
        new = self._thresholds(ledger, self._needs) if ledger is not None and ledger.node.is_usable else {}
        for need, known in self._needs.items():
            before, after = old.get(need), new.get(need)
            if before == after:
                continue
            if before is not None:
                del known[bisect_left(known, (before, name))]
            if after is not None:
                insort(known, (after, name))
        if new:
            self._of_node[name] = new

    def _thresholds(self, ledger: NodeLedger, needs: Iterable[int]) -> dict[int, float]:
        free = ledger.all_gpus()
        if not ledger.jobs:
            return {need: inf for need in needs if 0 < need <= free}
        behind = [
            (holder.standing(), _gpus_here(self.places(holder), ledger.name))
            for job_id in ledger.jobs
            if (holder := self.holders.get(job_id)) is not None and self.may_leave(holder)
        ]
        behind.sort(reverse=True)
        found: dict[int, float] = {}
        for need in needs:
            have = free
            if need == 0:
                if behind:
                    found[need] = behind[0][0]
                continue
            if have >= need:
                found[need] = inf
                continue
            for standing, gpus in behind:
                have += gpus
                if have >= need:
                    found[need] = standing
                    break
        return found


def make_room(
    shape: Shape,
    standing: float,
    standings: Standings,
    worth: Worth,
    now: float,
    renew: Renew | None = None,
) -> tuple[tuple[Slot, ...], list[Holder]] | None:
    """Places for the gang and who has to leave for it; in the arena the leavers' places are given back and the gang's
    are taken when this answers. Nothing is changed when it does not."""
    arena = standings.arena
    standings.refresh()
    need = need_of(shape)
    known = standings.farthest(need)
    if renew is not None:
        _bring_up(known, standing, standings, renew, _CANDIDATES * shape.tasks)
    if not known or known[-1][0] <= standing:
        return None
    if shape.one is not None or (shape.whole is not None and _one_node_could(shape.whole, arena)):
        found = _on_one_node(shape, need, standing, standings, worth, now)
        if found is not None or shape.one is not None:
            return found
    return _on_many(shape, need, standing, standings, worth, now)


def need_of(shape: Shape) -> int:
    """GPUs on one node, of the task that wants most; a part of a card counts as none, and is looked at in detail."""
    want = shape.groups[0].want
    return 0 if want.shares_gpu else want.gpus


def _bring_up(known: list[tuple[float, str]], standing: float, standings: Standings, renew: Renew, enough: int) -> None:
    """Ranks only sink meanwhile, so what is remembered is never too near: look again from the far end until as many
    as are wanted are up to date."""
    fresh: set[str] = set()
    at = len(known) - 1
    while at >= 0 and known[at][0] > standing and len(known) - at <= enough:
        name = known[at][1]
        if name in fresh:
            at -= 1
            continue
        fresh.add(name)
        renew(name)
        standings.look_at(name)
        at = len(known) - 1


def _one_node_could(whole: Resources, arena: Arena) -> bool:
    return arena.most_gpus >= whole.gpus


def _on_one_node(
    shape: Shape,
    need: int,
    standing: float,
    standings: Standings,
    worth: Worth,
    now: float,
) -> tuple[tuple[Slot, ...], list[Holder]] | None:
    arena, places = standings.arena, standings.places
    known = standings.farthest(need)
    want = shape.whole or shape.groups[0].want
    suitable = None if shape.is_plain else arena.nodes_for(shape.where, shape.where_key)
    best: tuple[tuple[float, float, float, str], list[Holder]] | None = None
    at, weighed = len(known) - 1, 0
    while at >= 0 and weighed < _CANDIDATES:
        threshold, name = known[at]
        if threshold <= standing:
            break
        at -= 1
        if suitable is not None and name not in suitable:
            continue
        weighed += 1
        leaving = _leavers(arena.ledgers[name], want, standing, standings, worth, now)
        if not leaving:
            continue
        lost = sum(holder.lost_work(now) for holder in leaving)
        cost = (lost, -min(h.standing() for h in leaving), sum(h.gpus for h in leaving), name)
        if best is None or cost < best[0]:
            best = (cost, leaving)
        if not lost and weighed >= _FREE_CANDIDATES:
            break
    if best is None:
        return None
    cost, leaving = best
    for holder in leaving:
        undo(places(holder), arena)
    slots = place(shape, arena, lambda ledger, _: ledger.name == cost[3])
    if slots is None:  # parts of cards, or CPU, that only seemed to be enough
        _restore(leaving, standings)
        return None
    return slots, leaving


def _leavers(
    ledger: NodeLedger,
    want: Resources,
    standing: float,
    standings: Standings,
    worth: Worth,
    now: float,
) -> list[Holder]:
    """Who must go from this node: the cheapest to lose first, and nobody who turns out not to be in the way."""
    behind = sorted(
        (
            holder
            for job_id in ledger.jobs
            if (holder := standings.holders.get(job_id)) is not None
            and holder.standing() > standing
            and standings.may_leave(holder)
            and worth(holder)
        ),
        key=lambda holder: (holder.lost_work(now), -holder.standing(), holder.job.job_id),
    )
    gone: list[Holder] = []
    for holder in behind:
        if ledger.shortage(want) is None:
            break
        _give(standings.places(holder), ledger)
        gone.append(holder)
    fits = ledger.shortage(want) is None
    needed = list(gone)
    if fits:
        for holder in sorted(gone, key=lambda holder: holder.standing()):
            _take(standings.places(holder), ledger)
            if ledger.shortage(want) is None:
                needed.remove(holder)
            else:
                _give(standings.places(holder), ledger)
    for holder in needed:
        _take(standings.places(holder), ledger)
    return needed if fits else []


def _on_many(
    shape: Shape,
    need: int,
    standing: float,
    standings: Standings,
    worth: Worth,
    now: float,
) -> tuple[tuple[Slot, ...], list[Holder]] | None:
    """Free node after node, those who stand farthest behind first, until the gang fits; then let stay who need not
    have gone."""
    arena, places = standings.arena, standings.places
    suitable = None if shape.is_plain else arena.nodes_for(shape.where, shape.where_key)
    ahead = [
        name
        for threshold, name in reversed(standings.farthest(need))
        if threshold > standing and (suitable is None or name in suitable)
    ]
    gone: dict[str, Holder] = {}
    visited: set[str] = set()
    slots: tuple[Slot, ...] | None = None
    for name in ahead:
        ledger = arena.ledgers[name]
        for job_id in list(ledger.jobs):
            holder = standings.holders.get(job_id)
            if holder is None or job_id in gone or holder.standing() <= standing:
                continue
            if standings.may_leave(holder) and worth(holder):
                gone[job_id] = holder
                undo(places(holder), arena)
        visited.add(name)
        if arena.free_gpu_m < shape.gpu_m or len(visited) * arena.most_gpus * 1000 < shape.gpu_m:
            continue
        slots = place(shape, arena, lambda ledger, _: ledger.name in visited)
        if slots is not None:
            break
    if slots is None:
        _restore(gone.values(), standings)
        return None
    used = {slot.node for slot in slots}
    for job_id, holder in sorted(gone.items(), key=lambda item: item[1].standing()):
        if not used & {slot.node for slot in places(holder)} or still_free(places(holder), arena):
            _restore([holder], standings)
            del gone[job_id]
    return slots, list(gone.values())


def still_free(slots: tuple[Slot, ...], arena: Arena) -> bool:
    """Whether these very places are free, all at once."""
    if len(slots) == 1:
        return is_free_at(slots[0], arena)
    taken: list[Slot] = []
    is_free = True
    for slot in slots:
        if not is_free_at(slot, arena):
            is_free = False
            break
        arena.take_exactly(slot)
        taken.append(slot)
    undo(taken, arena)
    return is_free


def is_free_at(slot: Slot, arena: Arena) -> bool:
    ledger = arena.ledgers.get(slot.node)
    return (
        ledger is not None
        and ledger.has_room_on(slot.devices, slot.resources.gpu_share)
        and ledger.cpu_m >= slot.resources.cpu_m
        and ledger.memory_bytes >= slot.resources.memory_bytes
    )


def _restore(holders: Iterable[Holder], standings: Standings) -> None:
    for holder in holders:
        retake(standings.places(holder), standings.arena)


def _gpus_here(places: tuple[Slot, ...], node: str) -> int:
    if len(places) == 1:
        return 0 if places[0].resources.shares_gpu else len(places[0].devices)
    return sum(len(slot.devices) for slot in places if slot.node == node and not slot.resources.shares_gpu)


def _give(slots: Iterable[Slot], ledger: NodeLedger) -> None:
    for slot in slots:
        if slot.node == ledger.name:
            ledger.give_back(slot.resources, slot.devices)


def _take(slots: Iterable[Slot], ledger: NodeLedger) -> None:
    for slot in slots:
        if slot.node == ledger.name:
            ledger.take_exactly(slot.resources, slot.devices)
