"""Who has which places, and what follows from it: accounts, promises, time limits, and those who are still leaving.

The ground floor of the planner: everything that takes or gives places goes through here, so the books always agree.
"""

from collections.abc import Iterable
from heapq import heappush
from itertools import count

from muster.domain.reasons import Reason
from muster.domain.virtual_clusters import OrderPolicy, Share, VirtualCluster
from muster.scheduling.arena import Arena
from muster.scheduling.demand import JobDemand, Preemption, Slot, Start
from muster.scheduling.holding import Holder
from muster.scheduling.limiting import Accounts
from muster.scheduling.placement import undo
from muster.scheduling.predicting import Predictor
from muster.scheduling.preempting import Standings
from muster.scheduling.promising import Promises
from muster.scheduling.queueing import LaneKey, Queue, Waiting
from muster.scheduling.ranking import Policy, policies
from muster.scheduling.reserving import Ends, Reservation
from muster.scheduling.shapes import Shapes

TURN_S = 3600.0
"""For so long a job that waited long keeps the standing it has waited for."""


class Books:
    """The state itself; the classes above it add what is done with it."""

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
        self._standings = Standings(self.arena, self.holders, physical, self._may_leave, self._needs)
        self._own_standings: dict[str, Standings] = {}
        self._are_dealt = True
        self._borrowers: dict[str, dict[int, dict[str, Holder]]] = {}
        """By virtual cluster and shape, those who have places and are not promised them."""
        self._stirred: set[str] = set()
        """Virtual clusters in which something happened since the last cycle."""
        self._unsettled: list[Holder] = []
        """They have left since the last cycle; when, only the next one is told."""
        self._timers: list[tuple[float, int, str, str]] = []
        self._looks_at = 0.0
        self._stamp = count()
        self._changed = True
        self._latest = 0.0
        self._preemptions: list[Preemption] = []
        self._empty = Arena()
        self._empty_of = -1
        self._fits: dict[int, bool] = {}

    def _timer(self, at: float, what: str, job_id: str) -> None:
        heappush(self._timers, (at, next(self._stamp), what, job_id))

    def _wake_at(self) -> float | None:
        return self._timers[0][0] if self._timers else None

    def _policy_of(self, vc: str) -> Policy:
        found = self.vcs.get(vc)
        return self._policy if found is None else self._policies[found.policy]

    def _may_leave(self, holder: Holder) -> bool:
        return holder.job.preemptible and holder.waits_for is None and holder.promised is None

    def _may_lose_promise(self, holder: Holder) -> bool:
        return holder.job.preemptible and holder.waits_for is None and holder.promised is not None

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
        shape = waiting.shape if waiting is not None and job is waiting.job else self._shapes.of(job)
        priority = job.priority if waiting is None else waiting.priority
        rank = policy.ranker.rank(job, shape.gpus, job.ran_s) if waiting is None else waiting.rank
        holder = Holder(job, shape, slots, since, priority, use_of(slots, self.arena), rank)
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

    def _borrows(self, holder: Holder) -> None:
        holder.promised = None
        if holder.job.vc in self.promises.arenas:
            of_vc = self._borrowers.setdefault(holder.job.vc, {})
            of_vc.setdefault(holder.shape.number, {})[holder.job.job_id] = holder

    def _borrows_no_more(self, holder: Holder) -> None:
        self._borrowers.get(holder.job.vc, {}).get(holder.shape.number, {}).pop(holder.job.job_id, None)

    def _is_promised(self, holder: Holder, promised: tuple[Slot, ...]) -> None:
        """The capacity is taken in what its virtual cluster is promised; now it is the holder's."""
        holder.promised = promised
        self.promises.arenas[holder.job.vc].seat(holder.job.job_id, promised)
        self._borrows_no_more(holder)
        self._touch(holder)

    def _unpromise(self, holder: Holder) -> None:
        arena = self.promises.arenas.get(holder.job.vc)
        if holder.promised is not None and arena is not None:
            arena.unseat(holder.job.job_id, holder.promised)
            undo(holder.promised, arena)
            self._stirred.add(holder.job.vc)
        holder.promised = None

    def _next_rank(self, holder: Holder, policy: Policy, ran_s: float, now: float) -> None:
        if policy.interrupts and holder.is_resumable:
            change = policy.ranker.changes_in(holder.job, holder.gpus, ran_s)
            if change is not None:
                holder.rank_at = now + change
                self._timer(holder.rank_at, "rank", holder.job.job_id)

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
        if slot.devices:  # of one task all are of one model
            ledger = arena.ledgers.get(slot.node)
            model = ledger.models.get(slot.devices[0], "") if ledger is not None else ""
            gpus[model] = gpus.get(model, 0) + len(slot.devices)
    return Share(gpus, cpu_m, memory)


def physical(holder: Holder) -> tuple[Slot, ...]:
    return holder.slots


def promised_to(holder: Holder) -> tuple[Slot, ...]:
    return holder.promised or ()


def order_of(holder: Holder) -> tuple[float, float, float, str]:
    return -holder.priority, holder.rank, holder.job.created_at, holder.job.job_id
