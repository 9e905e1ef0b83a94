"""The gang guard: with a plain scheduler, the pods of a job are held back until all of them can start.

Two jobs that started by halves would wait for each other for ever, each with nodes that the other needs. So a job is
released only if all its pods fit at once, counting what was released before. Jobs are released in the order of their
priority and age. A younger one may overtake for a while; then what an older one lacks is kept for it, so that large
jobs get their turn. A release that turns out to be wrong, because the scheduler knows more, is taken back.

The guard remembers what it decided, and reads no clock. Everything that must outlive it is seen from the pods: after a
restart, a job is released if any of its pods has no gate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from muster.kubernetes.amounts import PODS, for_people, total
from muster.kubernetes.resources import Key
from muster.lib.backoff import exponential
from muster.operator.scheduling.fitting import Fit, Kept, fit, fit_on_empty_nodes
from muster.operator.scheduling.gangs import Gang
from muster.operator.scheduling.nodes import may_run_on
from muster.operator.scheduling.room import Booking, Footprint, Room

PATIENCE_S = 300.0
"""How long younger jobs may overtake one that waits."""
TAKE_BACK_S = 120.0
"""How long the scheduler may find no node for a pod of a released job."""
_LONGEST_PAUSE_S = 900.0
_SHOWN = 4


class HoldReason(StrEnum):
    WAITS = "WaitingForRoom"
    TOO_LARGE = "DoesNotFit"
    TAKEN_BACK = "TakenBack"


@dataclass(frozen=True, slots=True)
class Hold:
    """Why the pods of a job are held back."""

    reason: HoldReason
    message: str
    is_new: bool = False
    """Whether pods that were released have to be deleted."""
    bars_pods: bool = False
    """Whether the pods must not exist while they are held, because they would use up a quota."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    gang: Gang
    hold: Hold
    lacking: frozenset[str] = frozenset()
    growth: int = -1
    """The growth of the room when this was found out."""


@dataclass(frozen=True, slots=True)
class _Pause:
    until: float
    times: int
    hold: Hold


class Guard:
    def __init__(self, room: Room, *, patience_s: float = PATIENCE_S, take_back_s: float = TAKE_BACK_S) -> None:
        self._room, self._patience_s, self._take_back_s = room, patience_s, take_back_s
        self._waiting: dict[str, _Waiting] = {}
        self._released: dict[str, Gang] = {}
        """Jobs whose pods have not all been seen without a gate yet."""
        self._started: dict[str, Gang] = {}
        """Jobs that have released pods and do not run yet."""
        self._pauses: dict[str, _Pause] = {}
        self._taken_at = 0.0
        """When a gang was taken back last. Others that were stuck may profit from it, and get their time anew."""
        self._failed: dict[tuple[str, ...], _Waiting] = {}
        """What did not fit holds for all that are like it, until there is more room."""
        self._woken: list[Key] = []
        self._swept_at, self._swept_growth = 0.0, -1

    def hold(self, gang: Gang, now: float) -> Hold | None:
        """Why the pods of this job have to wait; None releases all of them."""
        free, pause = list(self._free(gang)), self._pause(gang.uid, now)
        if free and pause is not None:
            return replace(pause.hold, is_new=True)
        if free:
            self._note_start(gang, free)
            return self._taken_back(gang, now)
        if gang.uid in self._released:
            return self._held_by_refusal(gang, now)
        before = self._waiting.get(gang.uid)
        if before is None or before.gang.signature != gang.signature:
            self._enqueue(gang, now)
        found = self._waiting.get(gang.uid)
        return found.hold if found else None

    def paused(self, uid: str, now: float) -> Hold | None:
        """Why the job, which was taken back, waits."""
        pause = self._pause(uid, now)
        return pause.hold if pause is not None else None

    def forget(self, uid: str) -> None:
        """The job has ended, is suspended or gone."""
        self._pauses.pop(uid, None)
        self.withdraw(uid)

    def withdraw(self, uid: str) -> None:
        """The job cannot use any room now, because its pods cannot be created."""
        self._waiting.pop(uid, None)
        self._drop(uid)
        if not self._waiting:
            self._failed.clear()

    def sweep(self, now: float) -> list[Key]:
        """Release what fits by now. Returns the jobs that have to be looked at again."""
        if (stuck := self._last_stuck(now)) is not None:
            self._woken.append(stuck.key)
        self._release(now)
        woken, self._woken = self._woken, []
        return woken

    def due_at(self) -> float | None:
        """When a sweep is due: at once if there may be more room, or when a time passes by."""
        if self._woken or (self._waiting and self._swept_growth != self._room.growth):
            return self._swept_at
        times = [pause.until for uid, pause in self._pauses.items() if uid in self._waiting]
        times += [one.gang.created_at + self._patience_s for one in self._waiting.values()]
        for gang in self._started.values():
            if (since := self._stuck_since(gang)) is not None:
                times.append(since + self._take_back_s)
        return min((at for at in times if at > self._swept_at), default=None)

    def _enqueue(self, gang: Gang, now: float) -> None:
        self._waiting[gang.uid] = waiting = _Waiting(gang, Hold(HoldReason.WAITS, ""))
        if len(self._waiting) > 1 and self._swept_growth != self._room.growth:
            self._release(now)  # those before it come first
            self._woken = [key for key in self._woken if key != gang.key]
        else:
            self._decide(waiting, now, self._kept_before(gang, now))
        if self._last_stuck(now) is not None:
            self._swept_growth = -1

    def _release(self, now: float) -> None:
        """Go through all that wait, in their order."""
        kept: list[Kept] = []
        if self._swept_growth != self._room.growth:
            self._failed.clear()
        self._swept_at, self._swept_growth = now, self._room.growth
        for waiting in sorted(self._waiting.values(), key=lambda one: one.gang.order):
            gang = waiting.gang
            found = self._decide(waiting, now, kept)
            if found is None or found.hold.reason is not waiting.hold.reason:
                self._woken.append(gang.key)
            if found is not None and self._is_kept(found, now):
                kept.append(Kept(gang, found.lacking))

    def _decide(self, waiting: _Waiting, now: float, kept: list[Kept]) -> _Waiting | None:
        """Release the job, in which case None is returned, or say why it has to wait."""
        gang = waiting.gang
        if (pause := self._pause(gang.uid, now)) is not None:
            found = replace(waiting, hold=pause.hold)
        elif (alike := self._failed.get(gang.signature)) is not None and alike.growth == self._room.growth:
            found = replace(waiting, hold=alike.hold, lacking=alike.lacking)
        elif (result := fit(gang, self._room, kept)).missing:
            found = self._waiting_for(gang, result, kept)
        else:
            self._assume(gang, result)
            del self._waiting[gang.uid]
            self._released[gang.uid] = gang
            return None
        self._waiting[gang.uid] = found
        return found

    def _assume(self, gang: Gang, result: Fit) -> None:
        for members in gang.members:
            for key in members.keys:
                if key in result.nodes:
                    self._room.assume(key, Booking(result.nodes[key], members.amounts, gang.priority))

    def _waiting_for(self, gang: Gang, result: Fit, kept: Sequence[Kept]) -> _Waiting:
        words = f"The pods are held back until all {gang.size} of the gang can start at once"
        if kept and not fit(gang, self._room).missing:
            return _Waiting(gang, Hold(HoldReason.WAITS, f"{words}: what is free is kept for a job that comes first"))
        if (at_best := fit_on_empty_nodes(gang, self._room)).missing:
            words = f"The nodes cannot hold all {gang.size} pods of the gang at once, even if nothing else ran"
            shortage = self._shortage(gang, at_best, "and the nodes have {}")
            found = _Waiting(gang, Hold(HoldReason.TOO_LARGE, f"{words}: {shortage}"))
        else:
            shortage = self._shortage(gang, result, "and too little of the {} on the nodes is free")
            found = _Waiting(gang, Hold(HoldReason.WAITS, f"{words}: {shortage}"), result.lacking)
        self._failed[gang.signature] = replace(found, growth=self._room.growth)
        return found

    def _shortage(self, gang: Gang, result: Fit, has: str) -> str:
        """Only what seldom changes is in the words: each change of them is a write."""
        if not result.lacking:
            return "no node matches their node selector, affinity and tolerations"
        specs = [members.spec for members in gang.members]
        usable = [node for node in self._room.nodes if any(may_run_on(spec, node.recovered) for spec in specs)]
        offered = total(node.offers for node in usable)
        names = sorted(result.lacking, key=lambda name: (name == PODS, "/" not in name, name))
        needs = gang.amounts
        return "; ".join(
            f"they need {for_people(name, needs[name])} {name}, {has.format(for_people(name, offered.get(name, 0)))}"
            for name in names[:_SHOWN]
            if name in needs
        )

    def _kept_before(self, gang: Gang, now: float) -> list[Kept]:
        return [
            Kept(one.gang, one.lacking)
            for one in self._waiting.values()
            if one.gang.order < gang.order and self._is_kept(one, now)
        ]

    def _is_kept(self, waiting: _Waiting, now: float) -> bool:
        has_waited = now - waiting.gang.created_at >= self._patience_s
        return has_waited and waiting.hold.reason is HoldReason.WAITS and bool(waiting.lacking)

    def _free(self, gang: Gang) -> Iterator[Footprint]:
        """The pods of the current attempt that the scheduler may place, or has placed."""
        for key in gang.pods:
            pod = self._room.pod(key)
            if pod is not None and pod.attempt == gang.attempt and not (pod.is_held or pod.is_leaving):
                yield pod

    def _note_start(self, gang: Gang, free: list[Footprint]) -> None:
        self._waiting.pop(gang.uid, None)
        if len(free) == gang.size:
            self._released.pop(gang.uid, None)
        if gang.has_started:
            self._started.pop(gang.uid, None)
            self._pauses.pop(gang.uid, None)
            return
        if gang.uid not in self._started and gang.uid not in self._released:
            # It was released before this process began. Nobody knows where its pods were to go.
            left = gang.without(key for key in gang.pods if (pod := self._room.pod(key)) is not None and pod.node)
            self._assume(left, fit(left, self._room))
        self._started[gang.uid] = gang

    def _held_by_refusal(self, gang: Gang, now: float) -> Hold | None:
        """All pods of a released gang may wait behind their gates for some that the API server refuses."""
        if gang.refused_at is None:
            self._started.pop(gang.uid, None)
            return None
        self._started[gang.uid] = gang
        return self._taken_back(gang, now)

    def _taken_back(self, gang: Gang, now: float) -> Hold | None:
        """Take this gang back if it is the last in the order of those that are stuck: the others may get its room."""
        stuck = self._last_stuck(now)
        if stuck is None or stuck.uid != gang.uid:
            return None
        times = self._pauses[gang.uid].times + 1 if gang.uid in self._pauses else 1
        length = exponential(times, first_s=self._take_back_s / 2, limit_s=_LONGEST_PAUSE_S)
        pause = _Pause(now + length, times, self._hold_of(gang))
        self._pauses[gang.uid], self._taken_at = pause, now
        self._drop(gang.uid)
        return replace(pause.hold, is_new=True)

    def _last_stuck(self, now: float) -> Gang | None:
        stuck = [
            gang
            for gang in self._started.values()
            if (since := self._stuck_since(gang)) is not None and now - since >= self._take_back_s
        ]
        return max(stuck, key=lambda gang: gang.order, default=None)

    def _stuck_since(self, gang: Gang) -> float | None:
        """Since when a part of a gang has held room in vain, or kept others from theirs."""
        if not self._room.unschedulable and gang.refused_at is None:
            return None
        free = list(self._free(gang))
        times = [pod.unschedulable_at for pod in free if not pod.node and pod.unschedulable_at is not None]
        if gang.refused_at is not None:
            times.append(gang.refused_at)
        elif not self._waiting and not any(pod.node for pod in free):
            return None
        return max(min(times), self._taken_at) if times else None

    def _pause(self, uid: str, now: float) -> _Pause | None:
        pause = self._pauses.get(uid)
        return pause if pause is not None and now < pause.until else None

    def _hold_of(self, gang: Gang) -> Hold:
        is_refused = gang.refused_at is not None
        why = "The API server refused" if is_refused else "The scheduler found no node for"
        words = f"{why} some pods for {self._take_back_s:.0f} s while others of the gang were there"
        message = f"{words}, so all were deleted; they are tried again after a pause"
        return Hold(HoldReason.TAKEN_BACK, message, bars_pods=is_refused)

    def _drop(self, uid: str) -> None:
        released, started = self._released.pop(uid, None), self._started.pop(uid, None)
        gang = released or started
        if gang is None:
            return
        for key in gang.pods:
            self._room.forget(key)
